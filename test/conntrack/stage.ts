import { FAMILIES } from "../../api/address.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { serve } from "../lab/programs.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../support/agent-process.ts";
import { takers } from "../support/kernel-under-test.ts";
import { importObject, sliceObject } from "../support/objects.ts";

export const VIP = "241.0.0.10";
export const VIP6 = "fd00:241::10";
export const PODS = { a: "10.1.0.11", b: "10.1.0.12" } as const;
export type Pod = keyof typeof PODS;

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

/** One node with two servers, a client, and an agent; its connection tracking is on, as kube-proxy's rules would make it. */
export class ConntrackStage implements AsyncDisposable {
  readonly lab: Lab;
  readonly agent: AgentProcess;
  readonly #manifests: ManifestDirectory;

  private constructor(lab: Lab, more: readonly string[], program?: string[]) {
    this.lab = lab;
    this.#manifests = new ManifestDirectory(lab, "manifests");
    const ranges = "241.0.0.0/8,fd00:241::/108";
    const flags = ["--cluster-id", "c1", "--clusterset-cidr", ranges, ...more];
    this.agent = new AgentProcess(this.node, this.#manifests.path, flags, program);
  }

  /** `program`: instead of the agent of these sources; `flags`: besides those that it needs. */
  static async create(
    program?: (lab: Lab) => Promise<string[]>,
    flags: readonly string[] = [],
  ): Promise<ConntrackStage> {
    const lab = await Lab.create({
      clusters: [{ id: "c1", nodes: [{ name: "n1", pods: { a: [], b: [], client: [] } }] }],
    });
    const stage = new ConntrackStage(lab, flags, await program?.(lab));
    await Promise.all(
      Object.keys(PODS).map((pod) =>
        stage
          .pod(pod)
          .spawn(serve("--name", pod, "--udp", "8080"))
          .line(/serving/, 60_000),
      ),
    );
    await stage.node.exec(["iptables", "-A", "FORWARD", "-m", "conntrack", "--ctstate", "NEW"]);
    await stage.node.exec(["ip6tables", "-A", "FORWARD", "-m", "conntrack", "--ctstate", "NEW"]);
    // What no node has translated ends here, without a word: an error would end the client's try.
    await lab.router.exec(["ip", "route", "add", "blackhole", "241.0.0.0/8"]);
    await lab.router.exec(["ip", "route", "add", "blackhole", "fd00:241::/108"]);
    return stage;
  }

  get node(): Namespace {
    return this.lab.node("c1", "n1");
  }

  pod(name: string): Namespace {
    return this.lab.pod("c1", "n1", name);
  }

  /** Writes the import; `annotations` of it. */
  declare(annotations: Readonly<Record<string, string>> = {}, vips = [VIP, VIP6]): void {
    const object = importObject("demo/serve", vips, PORTS);
    const metadata = { namespace: "demo", name: "serve", annotations };
    this.#manifests.write("import", { ...object, metadata });
  }

  /** Takes the import and the slice away. */
  withdraw(): void {
    this.#manifests.remove("import");
    this.#manifests.remove("slices");
  }

  /** Writes the slice. */
  place(ready: readonly Pod[], notReady: readonly Pod[] = []): void {
    const slices = FAMILIES.map((family) => {
      const at = (pod: Pod) => [this.pod(pod).address(family)];
      const endpoints = [
        ...ready.map((pod) => ({ addresses: at(pod) })),
        ...notReady.map((pod) => ({ addresses: at(pod), conditions: { ready: false } })),
      ];
      const name = `serve-${family.toLowerCase()}`;
      const slice = sliceObject(name, "demo/serve", { cluster: "c1" }, TARGETS, endpoints);
      return { ...slice, addressType: family };
    });
    this.#manifests.write("slices", ...slices);
  }

  /** Writes the slice, and waits until the kernel's UDP rules lead to the pods that are ready, and to no other. */
  async use(ready: readonly Pod[], notReady: readonly Pod[] = []): Promise<void> {
    this.place(ready, notReady);
    await eventually(async () => {
      for (const family of FAMILIES) {
        const found = await takers(this.node, family, "UDP");
        const wanted = ready.map((pod) => this.pod(pod).address(family)).sort();
        if (found.join() !== wanted.join()) throw new Error(`rules lead to ${found.join()}`);
      }
    });
  }

  /** Starts a client in its pod that talks to `host`, from `from` if that is given. */
  async talk(
    protocol: "tcp" | "udp",
    port: number,
    host: string = VIP,
    from = 0,
  ): Promise<Process> {
    const program = `${import.meta.dirname}/talk.ts`;
    const argv = [process.execPath, program, protocol, host, `${port}`, `${from}`];
    const client = this.pod("client").spawn(argv);
    await client.line(/talking/, 60_000);
    return client;
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

  /** How many walks through the table have succeeded; waits until there is one. */
  async sweeps(): Promise<number> {
    const name = "clusterset_agent_conntrack_sweep_duration_seconds_count";
    return eventually(() => this.agent.metric(name));
  }

  /** Makes the pod deaf and mute, as one is whose machine has died. Its neighbours still know where it was. */
  async kill(pod: Pod): Promise<void> {
    for (const iptables of ["iptables", "ip6tables"]) {
      for (const chain of ["INPUT", "OUTPUT"]) {
        await this.pod(pod).exec([iptables, "-A", chain, "!", "-p", "icmpv6", "-j", "DROP"]);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab.remove();
  }
}
