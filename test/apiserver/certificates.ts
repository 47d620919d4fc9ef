import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** A certificate and its private key, in PEM. */
export interface Certified {
  readonly certificate: string;
  readonly key: string;
}

/** Whom a certificate is about; kube-apiserver takes CN for the user and each O for a group. */
export interface Subject {
  readonly name: string;
  readonly groups?: readonly string[];
}

const DAY_MS = 86_400_000;
/** Object identifiers, encoded (RFC 5280, 5480 and 5758). */
const OID = {
  commonName: [0x55, 0x04, 0x03],
  organization: [0x55, 0x04, 0x0a],
  basicConstraints: [0x55, 0x1d, 0x13],
  extendedKeyUsage: [0x55, 0x1d, 0x25],
  clientAuth: [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02],
  serverAuth: [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01],
  ecdsaWithSha256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
};

/** Signs certificates of clients, and of servers for their name: a separate authority. Valid for a day. */
export class CertificateAuthority {
  readonly #subject: Buffer;
  readonly #key: KeyObject;
  /** Its own certificate, in PEM: what `--client-ca-file` takes. */
  readonly certificate: string;

  constructor(name: string) {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    this.#subject = nameOf({ name });
    this.#key = privateKey;
    const isAuthority = sequence(oid(OID.basicConstraints), octets(sequence(TRUE)));
    this.certificate = this.#certificate(this.#subject, publicKey, isAuthority);
  }

  /** A new key of a user, and a certificate for it. */
  certify(subject: Subject): Certified {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const purposes = sequence(oid(OID.clientAuth), oid(OID.serverAuth));
    const usage = sequence(oid(OID.extendedKeyUsage), octets(purposes));
    return {
      certificate: this.#certificate(nameOf(subject), publicKey, usage),
      key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    };
  }

  #certificate(subject: Buffer, of: KeyObject, extension: Buffer): string {
    const algorithm = sequence(oid(OID.ecdsaWithSha256));
    const [from, to] = [Date.now() - DAY_MS, Date.now() + DAY_MS];
    const body = sequence(
      tagged(0xa0, tagged(0x02, Buffer.of(2))), // The third version, the one that has extensions.
      tagged(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
      algorithm,
      this.#subject,
      sequence(time(from), time(to)),
      subject,
      of.export({ type: "spki", format: "der" }),
      tagged(0xa3, sequence(extension)),
    );
    const signature = tagged(0x03, Buffer.concat([Buffer.of(0), sign("sha256", body, this.#key)]));
    const text = sequence(body, algorithm, signature).toString("base64");
    return `-----BEGIN CERTIFICATE-----\n${text.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`;
  }
}

const TRUE = tagged(0x01, Buffer.of(0xff));

function nameOf({ name, groups = [] }: Subject): Buffer {
  const part = (type: readonly number[], text: string) =>
    tagged(0x31, sequence(oid(type), tagged(0x0c, Buffer.from(text))));
  return sequence(...groups.map((one) => part(OID.organization, one)), part(OID.commonName, name));
}

/** UTCTime: YYMMDDhhmmssZ. */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/\D/g, "").slice(2, 14);
  return tagged(0x17, Buffer.from(`${digits}Z`));
}

function oid(bytes: readonly number[]): Buffer {
  return tagged(0x06, Buffer.from(bytes));
}

function octets(content: Buffer): Buffer {
  return tagged(0x04, content);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

/** Tag, length and content, as DER has them (X.690). */
function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const short = length < 0x80 ? [length] : undefined;
  const long = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...(short ?? long)]), content]);
}
