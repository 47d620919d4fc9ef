import { field, isFields, textField } from "../../api/parse/fields.ts";

/** What stands in place of a secret. */
export const LEFT_OUT = "(left out)";

/** Variables of containers whose values stay: flags of our own programs, of which none is a secret. */
const OWN_VARIABLE = /^CLUSTERSET_(AGENT|CONTROLLER)_/;
/** Annotations of ours whose values are free text of users, or contain it. */
const OWN_FREE_TEXT =
  /^clusterset-proxy\.io\/(drain|exports|exported-annotations|exported-labels|authored-spec)$/;
/** Fields with texts that users choose, by key. */
const KEYED_TEXTS = ["annotations", "labels", "exportedAnnotations", "exportedLabels"];
/** Fields of Events with texts of the program that reports. */
const EVENT_TEXTS = ["message", "note"];
/** Annotations and labels whose values stay. Others are of users and of products that we do not know. */
const KNOWN_KEY =
  /^([^/]*\.)?(clusterset-proxy\.io|kubernetes\.io|k8s\.io|multicluster\.x-k8s\.io)\/|^(app|k8s-app|pod-template-hash|controller-revision-hash)$/;
/** It repeats the object, values of variables included. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Texts that may be secrets in any place, such as a log. The first group stays. The time of a search grows in proportion to the text: others may have written it. */
const SECRETS: readonly RegExp[] = [
  // PEM: keys, and certificates, which are no secrets but belong to credentials.
  /()-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g,
  // Tokens of service accounts and of OIDC: JWTs.
  /()(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g,
  // Bootstrap tokens; names of imported slices end alike, after a dot.
  /()(?<![\w.-])[a-z0-9]{6}\.[a-z0-9]{16}\b/g,
  /(\b(?:bearer|basic) +)[\w.~+/=-]{6,}/gi,
  // `token: abc`, `"client-key-data":"…"`, `password=abc`; also JSON in a string of JSON, as logs have it.
  /((?:token|password|passwd|secret|credential|api-?key|client-key-data|client-certificate-data)s?\\*["']?\s*[:=]\s*)(?!\(left out\))(?:\\*"[^"]+"|'[^']+'|[^\s"',;}]+)/gi,
  // PEM in base64, as kubeconfigs and Secrets have it.
  /()\bLS0tLS1CRUdJTi[\w+/=]*/g,
  // Any scheme: `Authorization: ApiKey abc`.
  /(\bauthorization\\*["']?\s*[:=]\s*\\*["']?)(?!\s|\(left out\)|(?:bearer|basic) +\(left out\))[^"'\n\r\\,}]+/gi,
  /(\b(?:set-)?cookie\\*["']?\s*[:=]\s*\\*["']?)(?!\s|\(left out\))[^"'\n\r\\]+/gi,
  // Docker's configuration: name and password in base64.
  /("auths?\\*"\s*:\s*)(?:\\*"[^"]*"|\{(?:[^{}]|\{[^{}]*\})*\})/gi,
  // Signed URLs, and keys in queries or variables: `?sig=`, `key=`, `X-Amz-Signature=`.
  /((?<![a-z0-9])(?:key|sig|signature|credential|auth|code)=)(?!\(left out\))[^\s"'\\,;&}]+/gi,
  // Names and passwords in URLs.
  /(:\/\/)[^\s/@]+@/g,
];

/** A text without what may be a secret. PURE. */
export function textWithoutSecrets(text: string): string {
  return SECRETS.reduce((rest, secret) => rest.replaceAll(secret, `$1${LEFT_OUT}`), text);
}

/**
 * An object of an API server without what may be a secret: values of variables, free text of users and other programs (annotations,
 * labels, Events) unless `withFreeText`, and texts that look like a secret. Of Secrets, nothing but the name is left. PURE.
 */
export function objectWithoutSecrets(object: unknown, withFreeText = false): unknown {
  const kind = textField(object, "kind");
  if (kind === "Secret") {
    const { name, namespace } = { ...(field(object, "metadata") as object) } as {
      name?: unknown;
      namespace?: unknown;
    };
    return { kind, metadata: { namespace, name } };
  }
  if (!withFreeText && isForeignEvent(object)) {
    const texts = EVENT_TEXTS.filter((name) => field(object, name) !== undefined);
    const left = Object.fromEntries(texts.map((name) => [name, LEFT_OUT]));
    return { ...(cleaned(object, "", withFreeText) as object), ...left };
  }
  return cleaned(object, "", withFreeText);
}

/** True for an Event of another program than ours. */
function isForeignEvent(object: unknown): boolean {
  const reporter =
    textField(object, "reportingComponent") || textField(field(object, "source"), "component");
  return (
    field(object, "involvedObject") !== undefined && reporter?.startsWith("clusterset-") !== true
  );
}

function cleaned(value: unknown, name: string, withFreeText: boolean): unknown {
  if (typeof value === "string") return textWithoutSecrets(value);
  if (Array.isArray(value)) {
    return value.map((one) => (name === "env" ? variable(one) : cleaned(one, "", withFreeText)));
  }
  if (!isFields(value)) return value;
  const parts = Object.entries(value).flatMap(([key, part]) => {
    if (key === "managedFields") return [];
    if (KEYED_TEXTS.includes(name) && key !== LAST_APPLIED) {
      const isKnown = withFreeText || (KNOWN_KEY.test(key) && !OWN_FREE_TEXT.test(key));
      return [[key, isKnown ? cleaned(part, "", withFreeText) : LEFT_OUT] as const];
    }
    return key === LAST_APPLIED ? [] : [[key, cleaned(part, key, withFreeText)] as const];
  });
  return Object.fromEntries(parts);
}

function variable(one: unknown): unknown {
  const value = field(one, "value");
  const isOwn = OWN_VARIABLE.test(textField(one, "name") ?? "");
  if (value === undefined || isOwn) return cleaned(one, "", false);
  return { ...(cleaned(one, "", false) as object), value: LEFT_OUT };
}
