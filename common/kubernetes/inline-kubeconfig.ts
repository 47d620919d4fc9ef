import { parse } from "yaml";
import { field, isFields, isUnset, textField } from "../../api/parse/fields.ts";
import { escaped } from "../../api/problem.ts";

/** What an inline kubeconfig may contain only if the operator allows it. */
export const KUBECONFIG_EXCEPTIONS = [
  "insecure-skip-tls-verify",
  "http",
  "proxy-url",
  "as",
] as const;
/** One of `KUBECONFIG_EXCEPTIONS`. */
export type KubeconfigException = (typeof KUBECONFIG_EXCEPTIONS)[number];

/** A kubeconfig from an untrusted source, such as a Secret. */
export interface InlineKubeconfig {
  readonly text: string;
  /** Its origin, for messages. */
  readonly from: string;
  /** What this one may contain besides. */
  readonly allowed?: readonly KubeconfigException[];
}

const CLUSTER_FIELDS = ["server", "certificate-authority-data", "tls-server-name"];
const USER_FIELDS = ["token", "client-certificate-data", "client-key-data", "username", "password"];
/** Data of tools such as minikube, which no client reads. */
const IGNORED = "extensions";

/**
 * The current context of a kubeconfig as JSON, with known fields only: nothing in it can name a file or start a program,
 * also in a client that supports more fields than this list (client-node reads `token-file`). Throws an Error that names
 * the field, and quotes no text, which holds credentials. PURE.
 */
export function restricted({ text, allowed = [] }: InlineKubeconfig): string {
  const document = parsed(text);
  const context = textField(document, "current-context") ?? "";
  const [clusterName, userName] = ["cluster", "user"].map((part) =>
    textField(entry(document, "contexts", context, "context"), part),
  );
  if (clusterName === undefined) throw new Error("the current context names no cluster");
  if (userName === undefined) throw new Error("the current context names no user");
  const known = { cluster: [...CLUSTER_FIELDS, ...allowed], user: [...USER_FIELDS, ...allowed] };
  const cluster = checked("cluster", entry(document, "clusters", clusterName, "cluster"), known);
  const user = checked("user", entry(document, "users", userName, "user"), known);
  const scheme = URL.parse(String(cluster.server))?.protocol;
  if (scheme !== "https:" && !(scheme === "http:" && allowed.includes("http"))) {
    throw new Error("cluster.server is not an https URL");
  }
  return JSON.stringify({
    "current-context": "peer",
    contexts: [{ name: "peer", context: { cluster: "peer", user: "peer" } }],
    clusters: [{ name: "peer", cluster }],
    users: [{ name: "peer", user }],
  });
}

function parsed(text: string): unknown {
  try {
    return parse(text);
  } catch {
    // Error messages of the parser quote the text.
    throw new Error("not a kubeconfig");
  }
}

/** The content of the first entry with a name, as in client-go. */
function entry(document: unknown, list: string, name: string, part: string): unknown {
  const entries = field(document, list);
  const found = Array.isArray(entries) ? entries : [];
  return field(
    found.find((one) => textField(one, "name") === name),
    part,
  );
}

/** The fields that are set, all of them known. */
function checked(
  part: "cluster" | "user",
  content: unknown,
  known: Readonly<Record<"cluster" | "user", readonly string[]>>,
): Readonly<Record<string, unknown>> {
  const fields = isFields(content) ? Object.entries(content) : [];
  const set = fields.filter(([name, value]) => name !== IGNORED && isSet(value));
  for (const [name, value] of set) {
    const shownName = `${part}.${escaped(name.slice(0, 40))}`;
    if (!known[part].includes(name)) throw new Error(`${shownName} is not allowed`);
    if (typeof value !== "string" && name !== "insecure-skip-tls-verify")
      throw new Error(`${shownName} is not a text`);
  }
  return Object.fromEntries(set);
}

function isSet(value: unknown): boolean {
  return !isUnset(value) && value !== "" && value !== false;
}
