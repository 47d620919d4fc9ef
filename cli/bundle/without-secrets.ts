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

/** Ends of the names of fields, flags and variables whose values are secrets. */
const SECRET_NAME = `(?:(?:token|password|passwd|pass[-_ ]?phrase|passcode|secret|credential|bearer|jwt|assertion|samlresponse|dockerconfigjson|(?:client-key|client-certificate)-data|(?:store|key|(?<![a-z])db)_?pass|(?<![a-z])(?:pass|pwd|pat|psk|otp|auth|(?:php|j)?sess(?:ion)?_?id)|(?:api|access|account|private|secret|master|session|preshared|signing|encryption|shared|tls)[-_. ]?(?:access)?key)s?)`;
/** Between a name and its value: also in JSON within JSON, encoded as in a query, and in XML. */
const EQUALS = String.raw`\\*(?:["']?\s*(?:=>|:=|[:=>]|%3D|&#(?:61|x3d);)|(?<=\\)u003d)\s*`;
const VALUE = String.raw`(?!\(left out\))(?:\[[^\]]{0,2000}\]|"(?:\\.|[^"\\])+"|\\+"[^"]+"|'[^']+'|[^\s"',;}]+)`;
const ENDS_AS_SECRET = new RegExp(`(?:${SECRET_NAME}|authorization|cookie)$`, "i");
/** Fields of objects with such a name that only refer to a Secret, or describe a token: `secret: { secretName: x }`, `serviceAccountToken: { audience: x }`. */
const REFERENCE = [
  ...["name", "namespace", "kind", "secretName", "key", "path", "mode", "defaultMode"],
  ...["audience", "expirationSeconds"],
];
/** A flag whose value is the next word. */
const FLAG = String.raw`--?[\w-]*?${SECRET_NAME}`;
const IS_FLAG = new RegExp(`^${FLAG}$`, "i");

/** Texts that may be secrets in any place, such as a log. The first group stays. The time of a search grows in proportion to the text: others may have written it. */
const SECRETS: readonly RegExp[] = [
  // PEM: keys, and certificates, which are no secrets but belong to credentials.
  /()-{4,5} ?BEGIN [A-Z0-9 ]+-{4,5}[\s\S]*?(?:-{4,5} ?END [A-Z0-9 ]+-{4,5}|$)/g,
  // Tokens of service accounts and of OIDC: JWTs.
  /()(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g,
  // Bootstrap tokens; names of imported slices end alike, after a dot.
  /()(?<![\w.-])[a-z0-9]{6}\.[a-z0-9]{16}\b/g,
  // age, and DigitalOcean: random, but in one case.
  /()\b(?:AGE-SECRET-KEY-1[A-Z0-9]+|do[opr]_v1_[a-f0-9]+)/g,
  /(\b(?:bearer|basic) +)[\w.~+/=-]{6,}/gi,
  // Names and passwords in URLs; also a password with a slash.
  /(:\/\/)(?:[^\s/"'?#]+|[^\s/@:"'?#]{0,100}:[^\s@"',]{1,100})@/g,
  // Any scheme: `Authorization: ApiKey abc`.
  /(\bauthorization\\*["']?\s*[:=]\s*\\*["']?)(?!\s|\(left out\)|(?:bearer|basic) +\(left out\))[^"'\n\r\\,}]+/gi,
  /(\b(?:set-)?cookie2?\\*["']?\s*[:=]\s*\\*["']?)(?!\s|\(left out\))[^"'\n\r\\]+/gi,
  // Docker's configuration: name and password in base64.
  /("auths?\\*"\s*:\s*)(?:\\*"[^"]*"|\{(?:[^{}]|\{[^{}]*\})*\})/gi,
  // Blocks of YAML: all lines that are indented as the first one is.
  new RegExp(
    `(${SECRET_NAME}["']?\\s*:\\s*[|>][-+\\d]*[ \\t]*\\n(?<indent>[ \\t]+))[^\\n]*(?:\\n\\k<indent>[^\\n]*)*`,
    "gi",
  ),
  // `name: DB_PASSWORD, value: abc`, `<add key="Password" value="abc"/>`.
  new RegExp(
    `((?:name|key)\\\\*["']?\\s*[:=]\\s*\\\\*["']?[\\w.-]{0,100}?${SECRET_NAME}\\\\*["']?[\\s,]+\\\\*["']?value${EQUALS})${VALUE}`,
    "gi",
  ),
  // `invalid token "abc"`. A quoted secret is the name of an object.
  /(\b(?:token|password|passphrase) (?:is |was )?\\*)"[^"]+"/gi,
  /(\b(?:sshpass|mysql\w*|mariadb)\s(?:[^\n]{0,200}?\s)?-p ?)[^\s"']+/g,
  /(:thin:[^\s/]{1,100}\/)[^\s@]{1,200}(?=@)/g,
  // `token: abc`, `"client-key-data":"…"`, `password=abc`; also JSON in a string of JSON, as logs have it.
  new RegExp(`(${SECRET_NAME}${EQUALS})${VALUE}`, "gi"),
  // `--password abc`, `login ann password abc`, `curl -u ann:abc`.
  new RegExp(`((?<![\\w-])${FLAG}\\s+)(?!-)${VALUE}`, "gi"),
  /(\blogin\s+\S+\s+password\s+)\S+/gi,
  /((?<![\w-])(?:-u ?|--(?:proxy-)?user[ =])[^\s:"']{1,100}:)[^\s"']+/g,
  // Signed URLs, and keys in queries or variables: `?sig=`, `key=`, `X-Amz-Signature=`.
  /((?<![a-z0-9])(?:key|sig|signature|credential|auth|code|session|sid)=)(?!\(left out\))[^\s"'\\,;&}]+/gi,
];

/** Words that may be keys or base64. Names, addresses, hashes and uids of Kubernetes have one case. */
const WORD = /(?<![\w+/=-])[\w+/=-]{24,}/g;
/** Each change between capitals, small letters, digits and signs; in a random text, three of five letters differ so from the one before. */
const CHANGE = /(?<=[a-z])[^a-z]|(?<=[A-Z])[^A-Z]|(?<=[0-9])[^0-9]/g;
/** Of names such as `virtualMachineScaleSets1`, one letter in four. */
const RANDOM_SHARE = 0.4;

/** True for a word that looks random: a token, a key, or base64, of whatever product. PURE. */
function isRandom(word: string): boolean {
  const letters = [/[a-z]/g, /[A-Z]/g, /[0-9]/g].map((kind) => word.match(kind)?.length ?? 0);
  const [small = 0, capital = 0, digits = 0] = letters;
  if (Math.min(small, capital) < 4 || digits < 1) return false;
  return (word.match(CHANGE)?.length ?? 0) >= word.length * RANDOM_SHARE;
}

/** A text without what may be a secret. PURE. */
export function textWithoutSecrets(text: string): string {
  const rest = SECRETS.reduce((left, secret) => left.replaceAll(secret, `$1${LEFT_OUT}`), text);
  return rest.replaceAll(WORD, (word) => (isRandom(word) ? LEFT_OUT : word));
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
    return value.map((one, i) => {
      if (name === "env") return variable(one);
      const isValue = typeof one === "string" && IS_FLAG.test(String(value[i - 1]));
      return isValue ? LEFT_OUT : cleaned(one, "", withFreeText);
    });
  }
  if (!isFields(value)) return value;
  // Such as a header of a probe.
  if (ENDS_AS_SECRET.test(nameIn(value)) && typeof value.value === "string") {
    const { value: _secret, ...rest } = value;
    return { ...(cleaned(rest, name, withFreeText) as object), value: LEFT_OUT };
  }
  const isSecretName = ENDS_AS_SECRET.test(name);
  const parts = Object.entries(value).flatMap(([key, part]) => {
    if (key === "managedFields") return [];
    if (KEYED_TEXTS.includes(name) && key !== LAST_APPLIED) {
      const isKnown = withFreeText || (KNOWN_KEY.test(key) && !OWN_FREE_TEXT.test(key));
      return [[key, isKnown ? cleaned(part, "", withFreeText) : LEFT_OUT] as const];
    }
    if (key === LAST_APPLIED) return [];
    const isSecret = ENDS_AS_SECRET.test(key) || (isSecretName && !REFERENCE.includes(key));
    return [
      [key, isSecret && isValue(part) ? LEFT_OUT : cleaned(part, key, withFreeText)] as const,
    ];
  });
  return Object.fromEntries(parts);
}

/** True for a text, a number, or several of them; not for a switch, such as `automountServiceAccountToken`, nor for a reference to a Secret. */
function isValue(part: unknown): boolean {
  if (Array.isArray(part)) return part.length > 0 && part.every(isValue);
  return typeof part === "string" || typeof part === "number";
}

function nameIn(value: unknown): string {
  return textField(value, "name") ?? "";
}

function variable(one: unknown): unknown {
  const value = field(one, "value");
  const isOwn = OWN_VARIABLE.test(nameIn(one));
  if (value === undefined || isOwn) return cleaned(one, "", false);
  return { ...(cleaned(one, "", false) as object), value: LEFT_OUT };
}
