import assert from "node:assert/strict";
import { FAMILIES } from "../../api/address.ts";
import type { TestedBackend } from "../backends/tested-backend.ts";
import { BACKEND } from "../backends.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import type { Process } from "../lab/process.ts";
import { startServer } from "../lab/programs.ts";
import { AgentProcess, eventually, LabNode } from "../stages/agent-process.ts";

export const VIP = "241.0.0.10";
export const VIP6 = "fd00:241::10";
export const PODS = { a: "10.1.0.11", b: "10.1.0.12" } as const;
export type Pod = keyof typeof PODS;
/** What curl says of a rejected connection. */
export const REJECTED = "curl exited with 7";

const PORTS = [
  { name: "http", port: 80, protocol: "TCP" },
  { name: "dns", port: 53, protocol: "UDP" },
];
const TARGETS = PORTS.map((port) => ({ ...port, port: 8080 }));

/** An entry as `conntrack -L -o id` prints it. */
export interface Line {
  readonly id: string;
  readonly text: string;
}

/** Options of a `ConntrackStage`. */
export interface Options {
  /** The agent, instead of that of these sources. */
  readonly program?: ((lab: Lab) => Promise<string[]>) | undefined;
  /** `BACKEND` if absent. */
  readonly backend?: TestedBackend;
  /** Besides those that the agent needs. */
  readonly flags?: readonly string[];
}

/** One node with two servers, a client, and an agent. A rule enables connection tracking, as kube-proxy's rules would. */
export class ConntrackStage extends LabNode {
  readonly agent: AgentProcess;
  readonly #backend: TestedBackend;

  private constructor(lab: Lab, options: Options, program?: string[]) {
    const { backend = BACKEND, flags = [] } = options;
    super(lab);
    this.#backend = backend;
    const ranges = "241.0.0.0/8,fd00:241::/108";
    const all = ["--cluster-id", "c1", "--clusterset-cidr", ranges, ...backend.flags, ...flags];
    this.agent = new AgentProcess(this.node, this.manifests.path, all, program);
  }

  static async create(options: Options = {}): Promise<ConntrackStage> {
    const lab = await Lab.oneNode({ a: [], b: [], client: [] });
    const stage = new ConntrackStage(lab, options, await options.program?.(lab));
    await Promise.all(
      Object.keys(PODS).map((pod) => startServer(stage.pod(pod), "--name", pod, "--udp", "8080")),
    );
    await stage.node.exec(["iptables", "-A", "FORWARD", "-m", "conntrack", "--ctstate", "NEW"]);
    await stage.node.exec(["ip6tables", "-A", "FORWARD", "-m", "conntrack", "--ctstate", "NEW"]);
    // Drops packets that no node has translated: an ICMP error would end the client's attempt.
    await lab.router.exec(["ip", "route", "add", "blackhole", "241.0.0.0/8"]);
    await lab.router.exec(["ip", "route", "add", "blackhole", "fd00:241::/108"]);
    return stage;
  }

  /** The same with the import, which has these annotations, and a running agent. */
  static async start(
    annotations: Readonly<Record<string, string>> = {},
    options: Options = {},
  ): Promise<ConntrackStage> {
    const stage = await ConntrackStage.create(options);
    stage.writeImport(annotations);
    await stage.agent.start();
    return stage;
  }

  /** Writes the import, with these annotations. */
  writeImport(annotations: Readonly<Record<string, string>> = {}, vips = [VIP, VIP6]): void {
    const object = importObject("demo/serve", vips, PORTS);
    const metadata = { namespace: "demo", name: "serve", annotations };
    this.manifests.write("import", { ...object, metadata });
  }

  /** Removes the import and its slices. */
  removeImport(): void {
    this.manifests.remove("import");
    this.manifests.remove("slices");
  }

  /** Writes the slices. `far`: ready pods of another cluster. */
  writeSlices(
    ready: readonly Pod[],
    notReady: readonly Pod[] = [],
    far: readonly Pod[] = [],
  ): void {
    const slices = FAMILIES.flatMap((family) => {
      const at = (pod: Pod) => [this.pod(pod).address(family)];
      const near = [
        ...ready.map((pod) => ({ addresses: at(pod) })),
        ...notReady.map((pod) => ({ addresses: at(pod), conditions: { ready: false } })),
      ];
      const sliceOf = (cluster: string, endpoints: readonly object[]) => {
        const name = `serve-${cluster}-${family.toLowerCase()}`;
        const slice = sliceObject(name, "demo/serve", { cluster }, TARGETS, endpoints);
        return { ...slice, addressType: family };
      };
      const others = far.map((pod) => ({ addresses: at(pod) }));
      return [sliceOf("c1", near), ...(far.length > 0 ? [sliceOf("c2", others)] : [])];
    });
    this.manifests.write("slices", ...slices);
  }

  /**
   * Writes the slices, and waits until the kernel forwards new UDP connections to exactly the ready pods; if there are none, to those
   * of the other cluster.
   */
  async use(
    ready: readonly Pod[],
    notReady: readonly Pod[] = [],
    far: readonly Pod[] = [],
  ): Promise<void> {
    this.writeSlices(ready, notReady, far);
    const takers = ready.length > 0 ? ready : far;
    await eventually(async () => {
      for (const family of FAMILIES) {
        const found = await this.#backend.takers(this.node, family, "UDP");
        const expected = takers.map((pod) => this.pod(pod).address(family)).sort();
        if (found.join() !== expected.join()) throw new Error(`forwarded to ${found.join()}`);
      }
    });
  }

  /** Starts a client in its pod that sends requests to `host` (client.ts), from port `from` if that is given. */
  async startClient(
    protocol: "tcp" | "udp",
    port: number,
    host: string = VIP,
    from = 0,
  ): Promise<Process> {
    const argv = programOf("client.ts", protocol, host, `${port}`, `${from}`);
    const client = this.pod("client").spawn(argv);
    await client.line(/started/, 60_000);
    return client;
  }

  /** The name of the pod that answers an HTTP request of the client's, or how curl ended: `REJECTED`, for one. */
  async answer(to: string = VIP): Promise<string> {
    const argv = ["curl", "-s", "-m", "5", `http://${to}/`];
    const { code, stdout } = await this.pod("client").run(argv);
    return /"name":"([^"]+)"/.exec(stdout)?.[1] ?? `curl exited with ${code}`;
  }

  /** The entries of the node whose original destination is `destination`. */
  async entries(destination = VIP): Promise<Line[]> {
    const argv = ["conntrack", "-L", "-o", "id", "--orig-dst", destination];
    const text = await this.node.exec(argv);
    return text.split("\n").flatMap((line) => {
      const id = / id=(\d+)/.exec(line)?.[1];
      return id === undefined ? [] : [{ id, text: line }];
    });
  }

  /** Number of successful scans of the table; waits for the first. */
  async sweeps(): Promise<number> {
    const name = "clusterset_agent_conntrack_sweep_duration_seconds_count";
    return eventually(() => this.agent.metric(name));
  }

  /** Drops all packets of the pod, as if its node had failed. Neighbour entries stay. */
  async kill(pod: Pod): Promise<void> {
    for (const iptables of ["iptables", "ip6tables"]) {
      for (const chain of ["INPUT", "OUTPUT"]) {
        await this.pod(pod).exec([iptables, "-A", chain, "!", "-p", "icmpv6", "-j", "DROP"]);
      }
    }
  }

  /** Fills the table with 50,000 entries of connects to this port of the VIP that this endpoint has not answered. */
  async fill(protocol: "TCP" | "UDP", port: number, endpoint: string): Promise<void> {
    const argv = [protocol, "50000", VIP, `${port}`, endpoint, "8080"];
    await this.node.exec(programOf("fill.ts", ...argv));
    assert.ok((await this.#count()) >= 50_000);
  }

  /** Waits until hardly any entry is left, while the agent answers. */
  async untilForgotten(): Promise<void> {
    await eventually(async () => {
      assert.equal(await this.agent.page("/livez"), "ok\n");
      const entries = await this.#count();
      assert.ok(entries < 1_000, `${entries} entries are left`);
    }, 90_000);
  }

  async #count(): Promise<number> {
    return Number(await this.node.exec(["conntrack", "-C"]));
  }
}

/** A command: a program of this folder. */
export function programOf(name: string, ...args: readonly string[]): string[] {
  return [process.execPath, `${import.meta.dirname}/${name}`, ...args];
}
