import { readFileSync } from "node:fs";
import { type Agent, validateHeaderValue } from "node:http";
import type { RequestOptions } from "node:https";
import { createSecureContext } from "node:tls";
import { inSeconds } from "../../api/count.ts";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import { ApiFault } from "./api-fault.ts";
import { type CredentialExpiry, expiriesOf } from "./credential-expiry.ts";
import { PLUGIN_MS } from "./credential-plugin.ts";
import { type KubeconfigOrigin, type LoadedConfig, loadKubeconfig } from "./kubeconfig.ts";
import { fileVersion } from "./kubeconfig-files.ts";

/** Timeout of getting credentials, in milliseconds: client-node has none for OIDC providers. */
const CREDENTIALS_MS = PLUGIN_MS + 5000;

/** Milliseconds for which credentials are cached: reading files takes a thirtieth of a busy controller's time. */
const READ_MS = 1000;

/** Current address and credentials of an API server. */
export interface Access {
  /** Such as `https://10.0.0.1:6443`; it may have a path. */
  readonly server: string;
  /** Connects through the kubeconfig's proxy, if it has one. */
  readonly proxy: Agent | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: Pick<RequestOptions, "ca" | "cert" | "key" | "rejectUnauthorized" | "servername">;
}

/** Options of `Credentials`. */
export interface CredentialsOptions {
  readonly kubeconfig: KubeconfigOrigin;
  readonly log: Logger;
  readonly clock: Clock;
  /** Milliseconds to wait for credentials. */
  readonly within?: number;
}

/** The credentials of a kubeconfig, read again for new requests: the file, its certificates and tokens may be rotated. */
export class Credentials {
  readonly #options: CredentialsOptions;
  #loaded: LoadedConfig;
  /** State of the kubeconfig file when it was read. */
  #version: string;
  #unreadable = false;
  #pending: Promise<Access> | undefined;
  /** Those of the last request. */
  #used: Access | undefined;
  /** The last credentials, and until when they are cached. */
  #latest: { readonly access: Access; readonly until: number } | undefined;

  private constructor(options: CredentialsOptions, loaded: LoadedConfig, version: string) {
    this.#options = options;
    this.#loaded = loaded;
    this.#version = version;
  }

  /** Throws CSP_KUBECONFIG. */
  static async load(options: CredentialsOptions): Promise<Credentials> {
    const version = versionOf(options.kubeconfig);
    const loaded = await loadKubeconfig(options.kubeconfig, options.clock);
    return new Credentials(options, loaded, version);
  }

  /** Address of the API server, without a name and a password in it: it is printed, and given to others. */
  get address(): string {
    return this.#server.replace(/^(https?:\/\/)[^/]*@/i, "$1");
  }

  get #server(): string {
    return this.#loaded.config.getCurrentCluster()?.server ?? "";
  }

  /** When the credentials of the last request expire. A plugin replaces its own. */
  get expiries(): readonly CredentialExpiry[] {
    const { plugin, tokenFile } = this.#loaded;
    if (this.#used === undefined || plugin !== undefined) return [];
    return expiriesOf(this.#used, tokenFile !== undefined);
  }

  /** The server rejected the credentials: discards them, including those of a plugin. */
  refused(): void {
    this.#version = "";
    this.#latest = undefined;
  }

  /** Ends a running plugin; current credentials stay valid. */
  stop(): void {
    this.#loaded.plugin?.stop();
  }

  /** The current credentials. Throws an ApiFault, `no-credentials`, or the reason of the signal. */
  async access(signal: AbortSignal): Promise<Access> {
    signal.throwIfAborted();
    const { clock, within = CREDENTIALS_MS } = this.#options;
    if (this.#latest !== undefined && clock.now() < this.#latest.until) return this.#latest.access;
    // All requests share one attempt, which may hang.
    this.#pending ??= this.#read()
      .then((access) => {
        this.#used = access;
        // A plugin reports the expiry of its credentials itself.
        if (this.#loaded.plugin === undefined)
          this.#latest = { access, until: clock.now() + READ_MS };
        return access;
      })
      .finally(() => {
        this.#pending = undefined;
      });
    const { promise, reject } = Promise.withResolvers<never>();
    const message = `Timed out after ${inSeconds(within)} getting credentials`;
    const cancel = clock.after(within, () => reject(new ApiFault("no-credentials", message)));
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
      if (tokenFile !== undefined) headers.authorization = `Bearer ${tokenOf(tokenFile)}`;
      const given = await plugin?.credentials();
      if (given?.token !== undefined) headers.authorization = `Bearer ${given.token}`;
      const { ca, rejectUnauthorized, servername } = options;
      const { cert = options.cert, key = options.key } = given ?? {};
      // Files may be replaced only in part. Connecting would throw, and through a proxy that error would be uncaught.
      for (const [name, value] of Object.entries(headers)) validateHeaderValue(name, value);
      if (cert !== undefined || key !== undefined) createSecureContext({ cert, key });
      return {
        server: this.#server,
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

  /** Reads the kubeconfig again if it changed; keeps the last valid one if that fails. */
  async #renew(): Promise<void> {
    const { kubeconfig, log, clock } = this.#options;
    try {
      const version = versionOf(kubeconfig);
      if (version !== this.#version) {
        this.#loaded = await loadKubeconfig(kubeconfig, clock);
        this.#version = version;
      }
      if (this.#unreadable) log.info("Reading kubeconfig succeeded again");
      this.#unreadable = false;
    } catch (error) {
      if (!this.#unreadable)
        log.warn("Reading kubeconfig failed; using the last valid one", { error });
      this.#unreadable = true;
    }
  }
}

/** Identifies a state of the kubeconfig file, also a missing one; constant for other origins. */
function versionOf(path: KubeconfigOrigin): string {
  return typeof path === "string" ? fileVersion(path) : "unchanging";
}

function tokenOf(path: string): string {
  const token = readFileSync(path, "utf8").trim();
  if (token === "") throw new Error(`${path} is empty`);
  return token;
}

/** The headers set by client-node, with lower-case names. */
function headersOf(headers: RequestOptions["headers"]): Record<string, string> {
  const entries = Object.entries(headers ?? {});
  // A token file may end with a line feed, which is invalid in a header.
  return Object.fromEntries(
    entries.map(([name, value]) => [name.toLowerCase(), String(value).trim()]),
  );
}
