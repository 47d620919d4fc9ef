import { field, isFields, textField } from "../../api/parse/fields.ts";

/** What stands in place of a secret. */
export const LEFT_OUT = "(left out)";

/** Variables of containers whose values stay: flags of our own programs, of which none is a secret. */
const OWN_VARIABLE = /^CLUSTERSET_(AGENT|CONTROLLER)_/;
/** Annotations and labels whose values stay. Others are of users and of products that we do not know. */
const KNOWN_KEY =
  /^([^/]*\.)?(clusterset-proxy\.io|kubernetes\.io|k8s\.io|multicluster\.x-k8s\.io)\/|^(app|k8s-app|pod-template-hash|controller-revision-hash)$/;
/** It repeats the object, values of variables included. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Texts that may be secrets wherever they stand, such as in a log; the first group stays. */
const SECRETS: readonly RegExp[] = [
  // PEM: keys, and certificates, which are no secrets but belong to credentials.
  /()-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g,
  // Tokens of service accounts and of OIDC: JWTs.
  /()\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g,
  // Bootstrap tokens; names of imported slices end alike, after a dot.
  /()(?<![\w.-])[a-z0-9]{6}\.[a-z0-9]{16}\b/g,
  /(\b(?:bearer|basic) +)[\w.~+/=-]{6,}/gi,
  // `token: abc`, `"client-key-data":"…"`, `password=abc`.
  /((?:token|password|passwd|secret|credential|api-?key|client-key-data|client-certificate-data)s?["']?\s*[:=]\s*)(?!\(left out\))(?:"[^"]+"|'[^']+'|[^\s"',;}]+)/gi,
  // Names and passwords in URLs.
  /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi,
];

/** A text without what may be a secret. PURE. */
export function textWithoutSecrets(text: string): string {
  return SECRETS.reduce((rest, secret) => rest.replaceAll(secret, `$1${LEFT_OUT}`), text);
}

/**
 * An object of an API server without what may be a secret: values of variables, of annotations and labels that we do not know, and
 * texts that look like one. Of Secrets, nothing but the name is left. PURE.
 */
export function objectWithoutSecrets(object: unknown): unknown {
  const kind = textField(object, "kind");
  if (kind === "Secret") {
    const { name, namespace } = { ...(field(object, "metadata") as object) } as {
      name?: unknown;
      namespace?: unknown;
    };
    return { kind, metadata: { namespace, name } };
  }
  return cleaned(object, "");
}

function cleaned(value: unknown, name: string): unknown {
  if (typeof value === "string") return textWithoutSecrets(value);
  if (Array.isArray(value)) {
    return value.map((one) => (name === "env" ? variable(one) : cleaned(one, "")));
  }
  if (!isFields(value)) return value;
  const parts = Object.entries(value).flatMap(([key, part]) => {
    if (key === "managedFields") return [];
    if ((name === "annotations" || name === "labels") && key !== LAST_APPLIED) {
      return [[key, KNOWN_KEY.test(key) ? cleaned(part, "") : LEFT_OUT] as const];
    }
    return key === LAST_APPLIED ? [] : [[key, cleaned(part, key)] as const];
  });
  return Object.fromEntries(parts);
}

function variable(one: unknown): unknown {
  const value = field(one, "value");
  const isOwn = OWN_VARIABLE.test(textField(one, "name") ?? "");
  if (value === undefined || isOwn) return cleaned(one, "");
  return { ...(cleaned(one, "") as object), value: LEFT_OUT };
}
