import { parse, stringify } from "yaml";
import { field, fieldAt, textField } from "../../api/parse/fields.ts";

/** What a controller needs to reach a registry on another API server. */
export interface RegistryAccess {
  /** URL of the API server. */
  readonly server: string;
  /** PEM, in base64; absent: the CAs of Node. */
  readonly ca?: string;
  /** SECRET: never logged or shown. */
  readonly token: string;
}

/** The kubeconfig for it, with everything inline. SECRET. PURE. */
export function kubeconfigOf({ server, ca, token }: RegistryAccess): string {
  const cluster = { server, ...(ca !== undefined && { "certificate-authority-data": ca }) };
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "registry",
    contexts: [{ name: "registry", context: { cluster: "registry", user: "registry" } }],
    clusters: [{ name: "registry", cluster }],
    users: [{ name: "registry", user: { token } }],
  });
}

/** The access of the only cluster and user of a kubeconfig; undefined if it has more, or other credentials. PURE. */
export function accessIn(kubeconfig: string): RegistryAccess | undefined {
  let document: unknown;
  try {
    document = parse(kubeconfig);
  } catch {
    return undefined;
  }
  const cluster = onlyOf(document, "clusters", "cluster");
  const server = textField(cluster, "server");
  const token = textField(onlyOf(document, "users", "user"), "token");
  if (server === undefined || token === undefined) return undefined;
  const ca = textField(cluster, "certificate-authority-data");
  return { server, token, ...(ca !== undefined && { ca }) };
}

/** True if two kubeconfigs have the same address and token, however they are written: a CA that was set by hand stays. PURE. */
export function isSameAccess(a: RegistryAccess, b: RegistryAccess | undefined): boolean {
  return a.server === b?.server && a.token === b.token;
}

/** The content of a key of a Secret as text; undefined if it has none. SECRET. PURE. */
export function secretText(secret: unknown, key: string): string | undefined {
  const value = fieldAt(secret, "data", key);
  return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : undefined;
}

function onlyOf(document: unknown, list: string, part: string): unknown {
  const entries = field(document, list);
  return Array.isArray(entries) && entries.length === 1 ? field(entries[0], part) : undefined;
}
