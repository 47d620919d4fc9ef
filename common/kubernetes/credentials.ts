import { readFileSync, statSync } from "node:fs";
import { type Agent, validateHeaderValue } from "node:http";
import type { RequestOptions } from "node:https";
import { createSecureContext } from "node:tls";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import { ApiFault } from "./api-fault.ts";
import { PLUGIN_MS } from "./credential-plugin.ts";
import { type KubeconfigOrigin, type LoadedConfig, loadKubeconfig } from "./kubeconfig.ts";

/** Milliseconds that it may take to get credentials: client-node asks an OIDC provider without a limit. */
const CREDENTIALS_MS = PLUGIN_MS + 5000;

/**
 * Milliseconds for which files are not read again: whoever rotates them lets the old ones be good for longer than that. Three
 * files for each of hundreds of requests a second are a thirtieth of a busy controller's time.
 */
const READ_MS = 1000;

/** How to reach an API server, and how to prove who asks, as of now. */
export interface Access {
  /** Such as `https://10.0.0.1:6443`; it may have a path. */
  readonly server: string;
  /** Makes connections through the proxy that the kubeconfig names, if it names one. */
  readonly proxy: Agent | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsAccess;
}

/** What a TLS connection needs to know. */
export type TlsAccess = Pick<
  RequestOptions,
  "ca" | "cert" | "key" | "rejectUnauthorized" | "servername"
>;

/** What `Credentials` are made of. */
export interface CredentialsOptions {
  readonly kubeconfig: KubeconfigOrigin;
  readonly log: Logger;
  readonly clock: Clock;
}

/**
 * The credentials of a kubeconfig, read anew while requests are made, since all of it may be rotated under way: the
 * kubeconfig itself, the files that it names, and what its plugin gave.
 */
export class Credentials {
  readonly #options: CredentialsOptions;
  #loaded: LoadedConfig;
  /** What the kubeconfig file was like when it was read. */
  #version: string;
  #unreadable = false;
  #pending: Promise<Access> | undefined;
  /** What was read last, and until when it is good. */
  #latest: { readonly access: Access; readonly until: number } | undefined;

  private constructor(options: CredentialsOptions, loaded: LoadedConfig, version: string) {
    this.#options = options;
    this.#loaded = loaded;
    this.#version = version;
  }

  /** Throws CSP_KUBECONFIG. */
  static async load(options: CredentialsOptions): Promise<Credentials> {
    const version = versionOf(options.kubeconfig);
    return new Credentials(
      options,
      await loadKubeconfig(options.kubeconfig, options.clock),
      version,
    );
  }

  /** Where the API server is. */
  get address(): string {
    return this.#loaded.config.getCurrentCluster()?.server ?? "";
  }

  /** The server refused them: what a plugin gave is given up, too. */
  refused(): void {
    this.#version = "";
    this.#latest = undefined;
  }

  /** Ends what runs to get some; what was got stays good. */
  stop(): void {
    this.#loaded.plugin?.stop();
  }

  /** The credentials as of now. Throws an ApiFault, `no-credentials`, or what the signal says. */
  async access(signal: AbortSignal): Promise<Access> {
    signal.throwIfAborted();
    const { clock } = this.#options;
    if (this.#latest !== undefined && clock.now() < this.#latest.until) return this.#latest.access;
    // What hangs is not started again and again.
    this.#pending ??= this.#read()
      .then((access) => {
        // What a plugin gives knows itself how long it is good for.
        if (this.#loaded.plugin === undefined)
          this.#latest = { access, until: clock.now() + READ_MS };
        return access;
      })
      .finally(() => {
        this.#pending = undefined;
      });
    const { promise, reject } = Promise.withResolvers<never>();
    const cancel = clock.after(CREDENTIALS_MS, () =>
      reject(new ApiFault("no-credentials", "Whoever gives the credentials does not answer")),
    );
    const stopped = (): void => reject(signal.reason);
    signal.addEventListener("abort", stopped);
    return Promise.race([this.#pending, promise]).finally(() => {
      cancel();
      signal.removeEventListener("abort", stopped);
    });
  }

  async #read(): Promise<Access> {
    await this.#renew();
    const { config, tokenFile, plugin } = this.#loaded;
    const options: RequestOptions = {};
    try {
      await config.applyToHTTPSOptions(options);
      const proxied = config.getCurrentCluster()?.proxyUrl !== undefined;
      const headers = headersOf(options.headers);
      if (typeof options.auth === "string") {
        headers.authorization = `Basic ${Buffer.from(options.auth).toString("base64")}`;
      }
      if (tokenFile !== undefined) {
        headers.authorization = `Bearer ${tokenOf(tokenFile)}`;
      }
      const given = await plugin?.credentials();
      if (given?.token !== undefined) headers.authorization = `Bearer ${given.token}`;
      const { ca, rejectUnauthorized, servername } = options;
      const { cert = options.cert, key = options.key } = given ?? {};
      // Files may be half replaced. Whoever connects would throw for it, and through a proxy nobody would catch that.
      for (const [name, value] of Object.entries(headers)) validateHeaderValue(name, value);
      if (cert !== undefined || key !== undefined) createSecureContext({ cert, key });
      return {
        server: this.address,
        proxy: proxied && typeof options.agent === "object" ? options.agent : undefined,
        headers,
        tls: {
          ...(ca !== undefined && { ca }),
          ...(cert !== undefined && { cert }),
          ...(key !== undefined && { key }),
          ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
          ...(servername !== undefined && { servername }),
        },
      };
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new ApiFault("no-credentials", why, { cause });
    }
  }

  /** Reads the kubeconfig again if it is another; keeps the last good one if that fails. */
  async #renew(): Promise<void> {
    const { kubeconfig, log, clock } = this.#options;
    try {
      const version = versionOf(kubeconfig);
      if (version === this.#version) return;
      this.#loaded = await loadKubeconfig(kubeconfig, clock);
      this.#version = version;
      this.#unreadable = false;
    } catch (error) {
      if (!this.#unreadable)
        log.warn("The kubeconfig cannot be read; the last one stays.", { error });
      this.#unreadable = true;
    }
  }
}

/** Tells one state of a file from another. A file that is not there has one, too; what is no file has only one. */
function versionOf(path: KubeconfigOrigin): string {
  if (typeof path !== "string") return "unchanging";
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? "none" : `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
}

function tokenOf(path: string): string {
  const token = readFileSync(path, "utf8").trim();
  if (token === "") throw new Error(`${path} holds no token`);
  return token;
}

/** Headers that client-node set, as text, their names in small letters. */
function headersOf(headers: RequestOptions["headers"]): Record<string, string> {
  const entries = Object.entries(headers ?? {});
  // A token with its file's line feed would be no header.
  return Object.fromEntries(
    entries.map(([name, value]) => [name.toLowerCase(), String(value).trim()]),
  );
}
