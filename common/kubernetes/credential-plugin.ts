import { execFile } from "node:child_process";
import { join } from "node:path";
import { field, textField } from "../../api/parse/fields.ts";
import { shown } from "../../api/problem.ts";
import type { Clock } from "../clock.ts";
import { parseJson } from "./json.ts";

/** Timeout of a plugin, in milliseconds: some call a cloud API, none should prompt. */
export const PLUGIN_MS = 30_000;
/** Maximum output of a plugin in bytes: several times the longest certificate chain. */
const MOST_PRINTED = 1024 * 1024;

/** Credentials of a plugin; certificates and keys in PEM. */
export type PluginCredentials = Readonly<Record<"token" | "cert" | "key", string | undefined>>;

/**
 * The `exec` program of a kubeconfig's user, as in client-go; it runs again when its credentials have expired. client-node's
 * implementation has no timeout, and ends the process when file descriptors run out.
 */
export class CredentialPlugin {
  readonly #exec: unknown;
  readonly #directory: string;
  readonly #clock: Clock;
  /** Ends the running plugin. */
  #end: (() => void) | undefined;
  #given: { readonly credentials: PluginCredentials; readonly until: number } | undefined;

  /** `exec`: the field of the user. `directory`: base of a relative path of the command. */
  constructor(exec: unknown, directory: string, clock: Clock) {
    this.#exec = exec;
    this.#directory = directory;
    this.#clock = clock;
  }

  /** The credentials. Rejects with an Error if the plugin fails. */
  async credentials(): Promise<PluginCredentials> {
    // The expiry is a time of day.
    if (this.#given !== undefined && Date.now() < this.#given.until) return this.#given.credentials;
    // As in client-go, where there is no standard input.
    if (textField(this.#exec, "interactiveMode") === "Always")
      throw new Error(
        "The plugin has interactiveMode Always, and is not run here, without a terminal",
      );
    const status = field(parsed(await this.#print()), "status");
    const [token, cert, key] = ["token", "clientCertificateData", "clientKeyData"].map((name) =>
      textField(status, name),
    );
    if (token === undefined && cert === undefined)
      throw new Error("The plugin returned no credentials");
    const credentials = { token, cert, key };
    const expires = Date.parse(textField(status, "expirationTimestamp") ?? "");
    const until = Number.isNaN(expires) ? Number.POSITIVE_INFINITY : expires;
    this.#given = { credentials, until };
    return credentials;
  }

  /** Ends the plugin if it is running. */
  stop(): void {
    this.#end?.();
  }

  /** Runs the plugin; returns its output. */
  #print(): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const abort = new AbortController();
    const { command, args, env } = this.#call();
    const options = {
      env,
      encoding: "buffer",
      killSignal: "SIGKILL",
      maxBuffer: MOST_PRINTED,
      signal: abort.signal,
    } as const;
    const child = execFile(command, args, options, (error, printed, said) => {
      cancel();
      this.#end = undefined;
      if (error === null) return resolve(printed);
      const end = error.signal ?? (typeof error.code === "number" ? `status ${error.code}` : "");
      const exited = `The plugin exited with ${end}: ${shown(said.toString().trim())}`;
      const hint = textField(this.#exec, "installHint");
      const missing =
        hint === undefined ? error.message : `${error.message}; ${shown(hint.trim())}`;
      reject(new Error(abort.signal.aborted ? abort.signal.reason : end ? exited : missing));
    });
    this.#end = () => abort.abort("The plugin was cancelled");
    const cancel = this.#clock.after(PLUGIN_MS, () => abort.abort("The plugin timed out"));
    // As /dev/null: a plugin that prompts must not wait for an answer.
    child.stdin?.end();
    return promise;
  }

  #call() {
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
    // As in client-go: a name is searched in PATH, a relative path starts at the kubeconfig.
    const isPath = command.includes("/") && !command.startsWith("/");
    return {
      command: isPath ? join(this.#directory, command) : command,
      args: (Array.isArray(args) ? args : []).map(String),
      env: {
        ...process.env,
        ...Object.fromEntries(own),
        KUBERNETES_EXEC_INFO: JSON.stringify(info),
      },
    };
  }
}

/** The output of a plugin. Throws an Error that quotes no text, which holds credentials. */
function parsed(printed: Buffer): unknown {
  try {
    return parseJson(printed);
  } catch {
    throw new Error("The plugin printed no JSON");
  }
}
