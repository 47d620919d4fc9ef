import { randomBytes } from "node:crypto";

/** A user that the API server identifies by a bearer token. RBAC grants its rights. */
export interface User {
  readonly name: string;
  readonly groups: readonly string[];
  readonly token: string;
}

/** May do everything. */
export const ADMIN = "admin";

export function newUser(name: string): User {
  return { name, groups: name === ADMIN ? ["system:masters"] : [], token: newToken() };
}

export function newToken(): string {
  return randomBytes(16).toString("hex");
}

/** The text of `--token-auth-file`: token, name, uid, groups. */
export function tokenFile(users: Iterable<User>): string {
  const lines = Array.from(users, ({ token, name, groups }) =>
    [token, name, name, `"${groups.join(",")}"`].join(","),
  );
  return `${lines.join("\n")}\n`;
}

/** A kubeconfig of one cluster and one user; what both have besides their names. */
export function kubeconfigOf(cluster: object, name: string, user: object): object {
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster }],
    users: [{ name, user }],
    contexts: [{ name: "test", context: { cluster: "test", user: name } }],
    "current-context": "test",
  };
}

/** A kubeconfig that names no file. `ca`: PEM. */
export function inlineKubeconfigOf(of: {
  readonly server: string;
  readonly ca: Buffer;
  readonly user: Pick<User, "name" | "token">;
}): object {
  const cluster = { server: of.server, "certificate-authority-data": of.ca.toString("base64") };
  return kubeconfigOf(cluster, of.user.name, { token: of.user.token });
}
