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

export interface KubeconfigOptions {
  readonly server: string;
  readonly caFile: string;
  readonly user: User;
  /** A file with the user's token and nothing else. */
  readonly tokenFile: string;
}

/**
 * A kubeconfig of one cluster and one user. It names the token and a file with it: where both are there,
 * client-go reads the file, and reads it again from time to time.
 */
export function kubeconfigOf({ server, caFile, user, tokenFile }: KubeconfigOptions): object {
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server, "certificate-authority": caFile } }],
    users: [{ name: user.name, user: { token: user.token, tokenFile } }],
    contexts: [{ name: "test", context: { cluster: "test", user: user.name } }],
    "current-context": "test",
  };
}

/** A kubeconfig of one cluster and one user with a certificate. */
export function certificateKubeconfigOf(of: {
  readonly server: string;
  readonly caFile: string;
  readonly user: User;
  readonly certificateFile: string;
  readonly keyFile: string;
}): object {
  const { server, caFile, user, certificateFile, keyFile } = of;
  const shown = { "client-certificate": certificateFile, "client-key": keyFile };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server, "certificate-authority": caFile } }],
    users: [{ name: user.name, user: shown }],
    contexts: [{ name: "test", context: { cluster: "test", user: user.name } }],
    "current-context": "test",
  };
}

/** A kubeconfig of one cluster and one user that names no file. `ca`: PEM. */
export function inlineKubeconfigOf(of: {
  readonly server: string;
  readonly ca: Buffer;
  readonly user: User;
}): object {
  const cluster = { server: of.server, "certificate-authority-data": of.ca.toString("base64") };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster }],
    users: [{ name: of.user.name, user: { token: of.user.token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: of.user.name } }],
    "current-context": "test",
  };
}
