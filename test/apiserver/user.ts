import { randomBytes } from "node:crypto";

/** A user that the API server identifies by a bearer token. RBAC grants its rights. */
export interface User {
  readonly name: string;
  readonly groups: readonly string[];
  readonly token: string;
}

/** May do everything. */
export const ADMIN = "admin";

/** A user with a new token. */
export function newUser(
  name: string,
  groups: readonly string[] = name === ADMIN ? ["system:masters"] : [],
): User {
  return { name, groups, token: randomBytes(16).toString("hex") };
}

/** The text of `--token-auth-file`: token, name, uid, groups. */
export function tokenFile(users: Iterable<User>): string {
  const lines = Array.from(users, ({ token, name, groups }) =>
    [token, name, name, `"${groups.join(",")}"`].join(","),
  );
  return `${lines.join("\n")}\n`;
}

/** A context of a kubeconfig, with the cluster and the user of the same name. */
export interface Context {
  readonly name: string;
  readonly cluster: object | undefined;
  readonly user: object | undefined;
  readonly namespace?: string | undefined;
}

/** The text of a kubeconfig with these contexts, the first of which is the current one. */
export function kubeconfigOf(...contexts: readonly Context[]): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: contexts.map(({ name, cluster }) => ({ name, cluster })),
    users: contexts.map(({ name, user }) => ({ name, user })),
    contexts: contexts.map(({ name, namespace }) => {
      return { name, context: { cluster: name, user: name, namespace } };
    }),
    "current-context": contexts[0]?.name ?? "",
  });
}
