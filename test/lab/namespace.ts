import { execFile } from "node:child_process";
import type { Address, Family } from "../../api/address.ts";
import { type Exit, Process, type SpawnOptions } from "./process.ts";
import { SLOWNESS } from "./slowness.ts";

export interface ExecOptions extends SpawnOptions {
  /** Milliseconds until the program is killed; two minutes by default, which only a fault takes. */
  readonly timeout?: number;
}

/** The output and exit status of a program. */
export interface Outcome extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

/** The rules of 10,000 Services are about 20 MB of text. */
const MAX_OUTPUT = 256 * 1024 * 1024;

/** One place of a lab: a node, a pod or the router. */
export class Namespace {
  /** `cluster/node`, `cluster/node/pod` or `router`. */
  readonly path: string;
  /** The name in `ip netns`. */
  readonly id: string;
  readonly addresses: readonly Address[];
  readonly #env: Readonly<Record<string, string>>;

  /** `env` is for everything that runs here. */
  constructor(
    path: string,
    id: string,
    addresses: readonly Address[],
    env: Readonly<Record<string, string>>,
  ) {
    this.path = path;
    this.id = id;
    this.addresses = addresses;
    this.#env = env;
  }

  /** The first address of a family, as text. */
  address(family: Family = "IPv4"): string {
    const own = this.addresses.find((one) => one.family === family);
    if (own === undefined) throw new Error(`${this.path}: no address of ${family}`);
    return own.text;
  }

  /** Starts a program here and leaves it running. Its environment is ours, the lab's, then `env`. */
  spawn(argv: readonly string[], options: SpawnOptions = {}): Process {
    return new Process(this.#enter(argv), { ...options, env: { ...this.#env, ...options.env } });
  }

  /** Runs a program here to its end. Throws only if it did not start, or end in time. */
  async run(argv: readonly string[], options: ExecOptions = {}): Promise<Outcome> {
    const { timeout = 120_000 * SLOWNESS, stdin = "" } = options;
    const env = { ...process.env, ...this.#env, ...options.env };
    const limits = { timeout, killSignal: "SIGKILL", maxBuffer: MAX_OUTPUT } as const;
    const [command = "", ...args] = this.#enter(argv);
    const outcome = Promise.withResolvers<Outcome>();
    const child = execFile(command, args, { env, ...limits }, (error, stdout, stderr) => {
      if (error === null) return outcome.resolve({ code: 0, signal: null, stdout, stderr });
      const said = { code: child.exitCode, signal: child.signalCode, stdout, stderr };
      if (!error.killed && (said.code !== null || said.signal !== null))
        return outcome.resolve(said);
      const why = error.killed
        ? `no end within ${timeout} ms and ${MAX_OUTPUT} bytes`
        : error.message;
      outcome.reject(new Error(`${this.path}: ${argv.join(" ")}: ${why}`, { cause: error }));
    });
    // A program that ends without reading its input closes the pipe (EPIPE); its exit code is the result.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(stdin);
    return outcome.promise;
  }

  /** Runs a program here and gives its standard output. Throws unless it ends with code 0. */
  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<string> {
    const { code, signal, stdout, stderr } = await this.run(argv, options);
    if (code === 0) return stdout;
    throw new Error(`${this.path}: ${argv.join(" ")}: ${signal ?? `code ${code}`}\n${stderr}`);
  }

  /** What to put before a command so that it runs here, in the lab's environment. */
  get within(): readonly string[] {
    const variables = Object.entries(this.#env).map(([name, value]) => `${name}=${value}`);
    return ["env", ...variables, ...this.#enter([])];
  }

  /** Not `ip netns exec`: that mounts a /sys of its own, which hides cgroups. */
  #enter(argv: readonly string[]): string[] {
    return ["nsenter", `--net=/run/netns/${this.id}`, "--", ...argv];
  }
}
