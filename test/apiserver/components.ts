import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Process } from "../lab/process.ts";
import type { ApiClient } from "./api-client.ts";
import { kubernetesCommand } from "./commands.ts";
import type { Place } from "./place.ts";

/** How long a program may take to be ready: beside much other work, an API server takes more than a minute. */
const PATIENCE_MS = 240_000;

/** Waits until a program is ready. Kills it and throws, with its output, if it is not ready in time, or ends. */
export async function untilReady(
  program: Process,
  name: string,
  isReady: () => Promise<boolean>,
): Promise<void> {
  let over: string | undefined;
  program.exited.then(
    ({ code, signal }) => (over = `ended, ${signal ?? `code ${code}`}`),
    (error: unknown) => (over = String(error)),
  );
  const end = performance.now() + PATIENCE_MS;
  while (!(await isReady())) {
    if (performance.now() > end) over ??= `not ready within ${PATIENCE_MS} ms`;
    if (over !== undefined) {
      program.signal("SIGKILL");
      throw new Error(`${name}: ${over}\n${program.errors}`);
    }
    await sleep(20);
  }
}

/**
 * The store of a control plane. It listens on Unix sockets in its directory: no ports, and this process reaches
 * it wherever it runs. It writes without fsync: a test does not survive the machine.
 */
export class Etcd {
  /** The flags of the API server. */
  readonly url: string;
  readonly #socket: string;
  readonly #process: Process;
  readonly #data: string;

  private constructor(place: Place, directory: string, command: string) {
    // etcd requires "host:port" even for a Unix socket, and creates a socket of that name in its directory.
    this.#socket = `${directory}/etcd:0`;
    this.url = `unix://${this.#socket}`;
    this.#data = `${directory}/etcd`;
    const options = {
      name: "test",
      "data-dir": this.#data,
      "listen-client-urls": "unix://etcd:0",
      "advertise-client-urls": "unix://etcd:0",
      "listen-peer-urls": "unix://peer:0",
      "initial-advertise-peer-urls": "unix://peer:0",
      "initial-cluster": "test=unix://peer:0",
      "log-level": "warn",
    };
    const flags = ["--unsafe-no-fsync", "--logger=zap", ...argumentsOf(options)];
    this.#process = place.spawn(["env", "-C", directory, command, ...flags]);
  }

  static async start(
    place: Place,
    directory: string,
    command = kubernetesCommand("etcd"),
  ): Promise<Etcd> {
    const etcd = new Etcd(place, directory, command);
    await untilReady(etcd.#process, "etcd", async () => {
      try {
        await etcd.#call("/v3/maintenance/status", {});
        return true;
      } catch {
        // Nobody listens yet: the answer, not a fault.
        return false;
      }
    });
    return etcd;
  }

  /** Forgets every revision before this moment, which is a revision of its own. */
  async compact(): Promise<void> {
    const key = Buffer.from("compacted").toString("base64");
    const { header } = (await this.#call("/v3/kv/put", { key })) as {
      header: { revision: string };
    };
    await this.#call("/v3/kv/compaction", { revision: header.revision, physical: true });
  }

  signal(name: "SIGCONT" | "SIGSTOP"): void {
    this.#process.signal(name);
  }

  /** Copies all data as they are at this moment, as a machine would find them that lost its power. */
  async copyTo(directory: string): Promise<void> {
    this.#process.signal("SIGSTOP");
    try {
      await cp(this.#data, directory, { recursive: true });
    } finally {
      this.#process.signal("SIGCONT");
    }
  }

  async kill(): Promise<void> {
    this.#process.signal("SIGKILL");
    await this.#process.exited;
  }

  /** etcd's own JSON gateway: https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/ */
  async #call(path: string, body: object): Promise<unknown> {
    const call = request({ socketPath: this.#socket, path, method: "POST" });
    const [response] = (await once(call.end(JSON.stringify(body)), "response")) as [
      IncomingMessage,
    ];
    const said = await text(response);
    if (response.statusCode === 200) return JSON.parse(said);
    throw new Error(`etcd: ${path}: ${response.statusCode} ${said}`);
  }
}

export interface ApiServerOptions {
  readonly place: Place;
  /** Where its key, certificates and tokens are. */
  readonly directory: string;
  readonly etcdUrl: string;
  readonly client: ApiClient;
  /** The command of an older one. */
  readonly command: "kube-apiserver-1.24" | undefined;
  /** False: it cannot begin a watch with all objects (KEP-3157), like those before 1.32. */
  readonly watchList: boolean;
}

/** Files of an API server, by what they are. Those in `certificates` it makes itself, and keeps. */
export function apiServerFiles(directory: string) {
  const certificates = `${directory}/certificates`;
  return {
    tokens: `${directory}/tokens.csv`,
    /** The authority whose certificates clients may show instead of a token. */
    clientCa: `${directory}/client-ca.crt`,
    key: `${directory}/service-accounts.pem`,
    certificates,
    /** The serving certificate and the CA that has signed it. */
    ca: `${certificates}/apiserver.crt`,
    auditPolicy: `${directory}/audit-policy.json`,
    audit: `${directory}/audit.jsonl`,
  };
}

/** Starts a kube-apiserver, and returns when it is ready to serve. */
export async function startApiServer(options: ApiServerOptions): Promise<Process> {
  const program = kubernetesCommand(options.command ?? "kube-apiserver");
  const server = options.place.spawn([program, ...argumentsOf(flagsOf(options))]);
  await untilReady(server, "kube-apiserver", () => isReady(options.client));
  return server;
}

/** Makes the key that service account tokens are signed with. */
export function writeServiceAccountKey(file: string): void {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  writeFileSync(file, privateKey.export({ type: "sec1", format: "pem" }), { mode: 0o600 });
}

/** Flags of every API server, of a test and of a real cluster. */
export function apiServerFlags({ address, port }: Place, directory: string, etcdUrl: string) {
  const files = apiServerFiles(directory);
  return {
    "etcd-servers": etcdUrl,
    "secure-port": port,
    "bind-address": address,
    "advertise-address": address,
    "cert-dir": files.certificates,
    "token-auth-file": files.tokens,
    "service-account-key-file": files.key,
    "service-account-signing-key-file": files.key,
    // Dual-stack: a Service has one family, IPv4, unless it asks for both.
    "service-cluster-ip-range": "10.96.0.0/16,fd00:96::/112",
    "allow-privileged": true,
    // Without it a watch that is open would hold up the end for a minute, and then break.
    "shutdown-watch-termination-grace-period": "1s",
    profiling: false,
    "audit-policy-file": files.auditPolicy,
    "audit-log-path": files.audit,
  };
}

/** Flags of a program by their names, without dashes. */
export type ProgramFlags = Readonly<Record<string, boolean | number | string>>;

/** Flags as a command line has them. */
export function argumentsOf(flags: ProgramFlags): string[] {
  return Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
}

function flagsOf({ place, directory, etcdUrl, watchList, command }: ApiServerOptions) {
  const { "shutdown-watch-termination-grace-period": since1_27, ...flags } = apiServerFlags(
    place,
    directory,
    etcdUrl,
  );
  const newer = {
    "shutdown-watch-termination-grace-period": since1_27,
    "feature-gates": `WatchList=${watchList}`,
  };
  return {
    ...flags,
    ...(command === undefined && newer),
    "client-ca-file": apiServerFiles(directory).clientCa,
    "authorization-mode": "RBAC",
    "service-account-issuer": "https://kubernetes.default.svc",
    // There is no controller to make the service account that every pod would have to have.
    "disable-admission-plugins": "ServiceAccount",
    // The endpoint of the Service "kubernetes" may not be a loopback address.
    "endpoint-reconciler-type": "none",
  };
}

/** Ready, and through with its own first objects. */
export async function isReady(client: ApiClient): Promise<boolean> {
  try {
    const { status } = await client.request("GET", "/readyz", { timeout: 2_000 });
    if (status !== 200) return false;
    return (await client.request("GET", "/api/v1/namespaces/default")).status === 200;
  } catch {
    // Not listening yet, or its certificate is not written yet: the answer, not a fault.
    return false;
  }
}

/** Milliseconds after which one that has ended is started again. */
const AGAIN_MS = 1000;

export interface ControllerManagerOptions {
  readonly place: Place;
  /** The path of a kubeconfig of a user with all rights. */
  readonly kubeconfig: string;
  /** The key that service account tokens are signed with. */
  readonly key: string;
  readonly client: ApiClient;
  /** Besides, or instead of, its usual ones: the only one of its cluster, it is in no election. */
  readonly flags: ProgramFlags;
}

/**
 * A real kube-controller-manager. It is started again whenever it ends, as its kubelet does it with a static pod: one
 * that has lost its Lease ends.
 */
export class ControllerManager {
  readonly #place: Place;
  readonly #argv: readonly string[];
  #process: Process;
  #isEnded = false;

  private constructor({ place, kubeconfig, key, flags }: ControllerManagerOptions) {
    const all = {
      kubeconfig,
      "leader-elect": false,
      controllers: "*,-nodeipam",
      "service-account-private-key-file": key,
      // Several of them share the loopback.
      "secure-port": 0,
      // It would make its default, below /usr.
      "flex-volume-plugin-dir": join(dirname(kubeconfig), "plugins"),
      ...flags,
    };
    this.#place = place;
    this.#argv = [kubernetesCommand("kube-controller-manager"), ...argumentsOf(all)];
    this.#process = this.#spawned();
  }

  /**
   * Starts it. Returns when its controllers work: one of them makes a service account in each namespace. Of one that
   * comes back, that says nothing: it works some seconds later.
   */
  static async start(options: ControllerManagerOptions): Promise<ControllerManager> {
    const manager = new ControllerManager(options);
    try {
      await untilReady(manager.#process, "kube-controller-manager", async () => {
        const path = "/api/v1/namespaces/default/serviceaccounts/default";
        return (await options.client.request("GET", path)).status === 200;
      });
    } catch (error) {
      await manager.kill();
      throw error;
    }
    return manager;
  }

  signal(name: "SIGCONT" | "SIGSTOP"): void {
    this.#process.signal(name);
  }

  /** Asks it to end. */
  async stop(): Promise<void> {
    this.#isEnded = true;
    await this.#process.stop();
  }

  async kill(): Promise<void> {
    this.#isEnded = true;
    this.#process.signal("SIGKILL");
    await this.#process.exited;
  }

  #spawned(): Process {
    const process = this.#place.spawn(this.#argv);
    // A program that never started is not retried: the waiting test gets the error.
    process.exited.then(
      () => this.#again(),
      () => undefined,
    );
    return process;
  }

  async #again(): Promise<void> {
    if (!this.#isEnded) await sleep(AGAIN_MS);
    if (!this.#isEnded) this.#process = this.#spawned();
  }
}
