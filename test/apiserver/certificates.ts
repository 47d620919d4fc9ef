import { execFileSync } from "node:child_process";
import { mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

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

const NEW_KEY = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -keyout key".split(" ");

/** Signs certificates of clients, and of servers for their name: a separate authority. */
export class CertificateAuthority {
  readonly #own: Certified;

  constructor(name: string) {
    const use = ["-addext", "keyUsage=keyCertSign"];
    this.#own = openssl({}, ["req", "-x509", ...NEW_KEY, "-subj", `/CN=${name}`, ...use]);
  }

  /** Its own certificate, in PEM: what `--client-ca-file` takes. */
  get certificate(): string {
    return this.#own.certificate;
  }

  /** A new key of a user, and a certificate for it: valid for a day, or, with -1, until yesterday. */
  certify({ name, groups = [] }: Subject, days: 1 | -1 = 1): Certified {
    const subject = [...groups.map((group) => `/O=${group}`), `/CN=${name}`].join("");
    const use = ["-addext", "extendedKeyUsage=clientAuth,serverAuth"];
    const issuer = { "issuer.crt": this.#own.certificate, "issuer.key": this.#own.key };
    const signed = ["-CA", "issuer.crt", "-CAkey", "issuer.key", "-days", `${days}`];
    return openssl(
      issuer,
      ["req", "-new", ...NEW_KEY, "-subj", subject, ...use],
      ["x509", "-req", "-in", "out", ...signed, "-copy_extensions", "copy"],
    );
  }
}

/** Runs commands of openssl in a folder with these files. The last one makes the certificate, for the key of the first. */
function openssl(
  files: Readonly<Record<string, string>>,
  ...commands: readonly (readonly string[])[]
): Certified {
  using folder = mkdtempDisposableSync(join(tmpdir(), "clusterset-proxy-certificate-"));
  const cwd = folder.path;
  for (const [file, text] of Object.entries(files))
    writeFileSync(join(cwd, file), text, { mode: 0o600 });
  for (const argv of commands)
    execFileSync("openssl", [...argv, "-out", "out"], { cwd, stdio: "pipe" });
  const read = (file: string) => readFileSync(join(cwd, file), "utf8");
  return { certificate: read("out"), key: read("key") };
}
