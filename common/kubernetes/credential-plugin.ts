import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { shown } from "../../api/problem.ts";
import type { Clock } from "../clock.ts";
import { field, parseJson, textField } from "./json.ts";

/** Milliseconds that a plugin may take: some ask a cloud, none should ask a person. */
export const PLUGIN_MS = 30_000;
/** Bytes that a plugin may print: several times the longest chain of certificates. */
const MOST_PRINTED = 1024 * 1024;

/** What a plugin gave, as far as it gave it; certificates and keys in PEM. */
export interface PluginCredentials {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

/**
 * The program that a kubeconfig's user names under `exec` (client.authentication.k8s.io, as client-go runs it): it is
 * asked once, and again when what it gave has expired. client-node's own way to run it has no end if it hangs, and
 * ends our process where there are no file descriptors left.
 */
export class CredentialPlugin {
  readonly #exec: unknown;
  readonly #directory: string;
  readonly #clock: Clock;
  /** Ends what runs. */
  #end: (() => void) | undefined;
  #given: { readonly credentials: PluginCredentials; readonly until: number } | undefined;

  /** `exec`: the field of the user. `directory`: what its command, if it is a path, is relative to. */
  constructor(exec: unknown, directory: string, clock: Clock) {
    this.#exec = exec;
    this.#directory = directory;
    this.#clock = clock;
  }

  /** What the plugin gives. Rejects with an Error that says why it gives nothing. */
  async credentials(): Promise<PluginCredentials> {
    // By the time of day, which is what the plugin speaks of.
    if (this.#given !== undefined && Date.now() < this.#given.until) return this.#given.credentials;
    const status = field(parseJson(await this.#print()), "status");
    const [token, cert, key] = ["token", "clientCertificateData", "clientKeyData"].map((name) =>
      textField(status, name),
    );
    if (token === undefined && cert === undefined)
      throw new Error("The plugin gave no credentials");
    const credentials = {
      ...(token !== undefined && { token }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    };
    const expires = Date.parse(textField(status, "expirationTimestamp") ?? "");
    this.#given = {
      credentials,
      until: Number.isNaN(expires) ? Number.POSITIVE_INFINITY : expires,
    };
    return credentials;
  }

  /** Ends it if it runs. */
  stop(): void {
    this.#end?.();
  }

  /** Runs it; gives what it printed. */
  async #print(): Promise<Buffer> {
    const child = this.#spawn();
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const end = (why: string) => (): void => {
      child.kill("SIGKILL");
      // What it has started itself may hold them open for ever.
      child.stdout?.destroy();
      child.stderr?.destroy();
      child.unref();
      reject(new Error(why));
    };
    const cancel = this.#clock.after(PLUGIN_MS, end("The plugin does not come to an end"));
    this.#end = end("The plugin is not waited for");
    const tooMuch = end("The plugin prints too much");
    const printed = collect(child.stdout, tooMuch);
    const said = collect(child.stderr, tooMuch);
    child.on("error", reject);
    child.on("close", (status, signal) => {
      if (status === 0) return resolve(Buffer.concat(printed));
      const words = shown(Buffer.concat(said).toString().trim());
      reject(new Error(`The plugin ended with ${signal ?? `status ${status}`}: ${words}`));
    });
    return promise.finally(() => {
      cancel();
      this.#end = undefined;
    });
  }

  #spawn(): ChildProcess {
    const command = textField(this.#exec, "command") ?? "";
    const args = field(this.#exec, "args");
    const env = field(this.#exec, "env");
    const info = {
      apiVersion: textField(this.#exec, "apiVersion"),
      kind: "ExecCredential",
      spec: { interactive: false },
    };
    const own = (Array.isArray(env) ? env : []).map(
      (one: unknown) => [textField(one, "name") ?? "", textField(one, "value")] as const,
    );
    // As client-go reads it: a name is looked for in PATH, a path begins at the kubeconfig.
    const isPath = command.includes("/") && !command.startsWith("/");
    return spawn(
      isPath ? join(this.#directory, command) : command,
      (Array.isArray(args) ? args : []).map(String),
      {
        env: {
          ...process.env,
          ...Object.fromEntries(own),
          KUBERNETES_EXEC_INFO: JSON.stringify(info),
        },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
  }
}

/** What comes of a stream, if there is one: a process that could not be started has none. */
function collect(stream: ChildProcess["stdout"], tooMuch: () => void): Buffer[] {
  const parts: Buffer[] = [];
  let length = 0;
  stream?.on("data", (part: Buffer) => {
    length += part.length;
    if (length > MOST_PRINTED) tooMuch();
    else parts.push(part);
  });
  return parts;
}
