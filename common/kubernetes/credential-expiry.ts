import { X509Certificate } from "node:crypto";
import { field } from "../../api/parse/fields.ts";

/** When a credential expires. */
export interface CredentialExpiry {
  /** `token-file`: a token in a file, which the kubelet or another program replaces before it expires. */
  readonly credential: "certificate" | "token" | "token-file";
  /** Seconds since 1970. */
  readonly at: number;
}

/** Credentials, as requests use them. */
interface Used {
  readonly headers: Readonly<Record<string, string>>;
  /** Its certificate is PEM. */
  readonly tls: { readonly cert?: unknown };
}

/**
 * When the token and the client certificate of these credentials expire. None for a token that names no end, such as that of a
 * Secret, or that is no JWT. Its signature is the API server's to check.
 */
export function expiriesOf({ headers, tls }: Used, isFromFile: boolean): CredentialExpiry[] {
  const [, token] = /^Bearer (.+)$/.exec(headers.authorization ?? "") ?? [];
  const [ends, certificate] = [endOfToken(token), endOfCertificate(tls.cert)];
  return [
    ...(ends === undefined
      ? []
      : [{ credential: isFromFile ? ("token-file" as const) : ("token" as const), at: ends }]),
    ...(certificate === undefined ? [] : [{ credential: "certificate" as const, at: certificate }]),
  ];
}

function endOfToken(token: string | undefined): number | undefined {
  const [, payload = ""] = token?.split(".") ?? [];
  try {
    const end = field(JSON.parse(Buffer.from(payload, "base64url").toString("utf8")), "exp");
    return typeof end === "number" && Number.isFinite(end) ? end : undefined;
  } catch {
    return undefined;
  }
}

/** Of the first certificate, which is the client's own. */
function endOfCertificate(cert: unknown): number | undefined {
  if (typeof cert !== "string" && !Buffer.isBuffer(cert)) return undefined;
  try {
    return Date.parse(new X509Certificate(cert).validTo) / 1000;
  } catch {
    return undefined;
  }
}
