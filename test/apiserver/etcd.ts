import { cp } from "node:fs/promises";
import { request } from "node:http";
import type { Process } from "../lab/process.ts";
import { kubernetesCommand } from "./commands.ts";
import type { Place } from "./place.ts";
import { untilReady } from "./readiness.ts";

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
    const flags = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
    this.#process = place.spawn([
      ...["env", "-C", directory, command],
      ...["--unsafe-no-fsync", "--logger=zap", ...flags],
    ]);
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
  #call(path: string, body: object): Promise<unknown> {
    const answer = Promise.withResolvers<unknown>();
    const call = request({ socketPath: this.#socket, path, method: "POST" }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("error", answer.reject);
      response.on("end", () => {
        if (response.statusCode === 200) answer.resolve(JSON.parse(text));
        else answer.reject(new Error(`etcd: ${path}: ${response.statusCode} ${text}`));
      });
    });
    call.on("error", answer.reject);
    call.end(JSON.stringify(body));
    return answer.promise;
  }
}
