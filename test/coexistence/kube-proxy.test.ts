import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { TestedBackend } from "../backends/tested-backend.ts";
import { BACKENDS } from "../backends.ts";
import { CountedConnections, call } from "../connections/connections.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import type { Namespace } from "../lab/namespace.ts";
import { request } from "../lab/programs.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../stages/agent-process.ts";
import { CLUSTER_IP, Cluster, type Server } from "./cluster.ts";
import { KubeProxy, type Mode } from "./kube-proxy.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/clusterset-agent", import.meta.url));
/** Where the import `shop/web` answers. */
const VIP = "241.0.1.7";
const HTTP = { name: "http", port: 80, protocol: "TCP" };

/** The flavour of iptables that the agent chooses beside a kube-proxy in this mode. */
const flavourBeside = (mode: Mode) => (mode === "iptables-legacy" ? "legacy" : "nft");

/** A node of a cluster with a kube-proxy in some mode, and with an agent for each backend. Its name is the mode's. */
class SharedNode {
  readonly node: Namespace;
  /** A pod on it. */
  readonly client: Namespace;
  readonly proxy: KubeProxy;
  readonly #cluster: Cluster;
  readonly #manifests: ManifestDirectory;
  #backend: TestedBackend | undefined;
  #agent: AgentProcess | undefined;

  constructor(cluster: Cluster, mode: Mode) {
    const { lab, plane } = cluster;
    this.#cluster = cluster;
    this.node = cluster.node(mode);
    this.client = cluster.client(mode);
    const kubeconfig = plane.kubeconfig({ user: "admin" });
    this.proxy = new KubeProxy(lab, this.node, mode, mode, kubeconfig);
    this.#manifests = new ManifestDirectory(lab, `manifests-${mode}`);
  }

  /** Has an agent with this backend from now on; the one before must not run. It chooses the flavour of iptables itself. */
  use(backend: TestedBackend): void {
    this.#backend = backend;
    const flags = ["--cluster-id", "c1", "--region", "eu-west", "--backend", backend.name];
    this.#agent = new AgentProcess(this.node, this.#manifests.path, flags);
  }

  get agent(): AgentProcess {
    if (this.#agent === undefined) throw new Error("no backend is in use");
    return this.#agent;
  }

  get backend(): TestedBackend {
    if (this.#backend === undefined) throw new Error("no backend is in use");
    return this.#backend;
  }

  /** Has the import with these servers as its endpoints. */
  import(servers: readonly Server[]): void {
    const slices = (["c1", "c2"] as const).map((origin) => {
      const here = servers.filter((name) => (name === "c") === (origin === "c2"));
      const addresses = here.map((name) => this.#cluster.server(name));
      const target = { ...HTTP, port: 8080 };
      return sliceObject(`web-${origin}`, "shop/web", { cluster: origin }, [target], addresses);
    });
    this.#manifests.write("web", importObject("shop/web", [VIP], [HTTP]), ...slices);
  }

  /** Throws unless the pod and the node itself are answered at port 80 there. */
  async answered(address: string): Promise<void> {
    const places = [this.client, this.node];
    const answers = await Promise.all(places.map((from) => call(from, address, 80, 10)));
    for (const answer of answers) assert.match(answer, /^[abc]$/);
  }

  /** The result of a connection from the pod: the responding pod, or the error. */
  async call(address: string, port = 80): Promise<string> {
    const argv = request("--timeout", "500", `tcp://${address}:${port}`);
    const { name, error } = JSON.parse((await this.client.run(argv)).stdout);
    return name ?? error;
  }

  /** Our own objects. */
  ours(): Promise<string[]> {
    return this.backend.own(this.node);
  }

  /** The addresses that new connections to the import go to. */
  takers(): Promise<string[]> {
    return this.backend.takers(this.node, "IPv4", "TCP");
  }

  /** Whose the jumps of a chain of the table nat are, in their order. */
  async jumps(chain: string): Promise<string[]> {
    const lines = await this.node.exec([
      `iptables-${flavourBeside(this.proxy.mode)}`,
      "-w",
      "-t",
      "nat",
      "-S",
      chain,
    ]);
    return [...lines.matchAll(/ -j (CSP|KUBE)-/g)].map(([, owner = ""]) => owner);
  }

  /** `clusterset-agent cleanup`. */
  async cleanup(): Promise<void> {
    await this.node.exec([PROGRAM, "cleanup"]);
  }

  /** kube-proxy's rules, once it has nothing more to do: it waits 100 ms between two passes. */
  async settled(): Promise<string> {
    for (let last = ""; ; ) {
      const now = await this.proxy.rules();
      if (now === last) return now;
      last = now;
      await sleep(700);
    }
  }

  /** Removes every rule and chain of IPv4, whosever it is; tables of nft with them, unless iptables only is in use. */
  async flush(): Promise<void> {
    const { mode } = this.proxy;
    const tool = `iptables-${flavourBeside(mode)} -w -t $table`;
    const tables = `for table in nat filter mangle; do ${tool} -F && ${tool} -X || exit 1; done`;
    const nft = "nft list tables ip | while read -r table; do nft delete $table || exit 1; done";
    if (mode !== "nftables") await this.node.exec(["sh", "-c", tables]);
    if (mode === "nftables" || this.backend.name === "nftables")
      await this.node.exec(["sh", "-c", nft]);
  }

  async stop(): Promise<void> {
    if (this.#agent?.started === true) await this.#agent.stop();
    await this.proxy.stop();
  }
}

/** Milliseconds in which everybody has looked at the rules, on a machine that has other things to do. */
const LOOKS_MS = 30_000;
const MODES: readonly Mode[] = ["iptables-nft", "iptables-legacy", "nftables"];
/** Endpoints of the import, one state after the other: never none. */
const STATES: readonly (readonly Server[])[] = [["a", "b"], ["b"], ["c"], ["a", "b", "c"], ["a"]];

describe("beside the real kube-proxy", () => {
  let cluster: Cluster;
  let shared: SharedNode;
  before(async () => {
    cluster = await Cluster.create(MODES);
  });
  after(() => cluster.remove());

  for (const mode of MODES) {
    describe(`in mode ${mode}`, () => {
      before(async () => {
        shared = new SharedNode(cluster, mode);
        await shared.proxy.start();
        await eventually(() => shared.answered(CLUSTER_IP));
      });
      after(() => shared.stop());
      const flavours = [undefined, flavourBeside(mode)];
      const backends = BACKENDS.filter(({ config }) => flavours.includes(config.iptablesFlavour));
      for (const backend of backends) {
        describe(`with ${backend.title}`, () => {
          before(() => shared.use(backend));
          neighbours(mode);
        });
      }
      if (mode === "nftables") {
        describe("with an overlapping Service range", () => {
          for (const backend of backends) overlap(backend);
        });
      }
    });
  }

  function neighbours(mode: Mode): void {
    test("an installation changes no rule of kube-proxy, and both get responses", async () => {
      const its = await shared.settled();
      assert.match(its, /shop\/web/);
      shared.import(["a", "b", "c"]);
      await shared.agent.start();
      if (shared.backend.name === "iptables")
        assert.match(shared.agent.log, new RegExp(`"flavour":"${flavourBeside(mode)}"`));
      await shared.answered(VIP);
      await shared.answered(CLUSTER_IP);
      assert.equal(await shared.proxy.rules(), its);
    });

    test("no connection to the import fails or hangs while both have much to change", async (t) => {
      // Connections to the ClusterIP are kube-proxy's own: with much to change it may lose one, with and without us.
      const counted = new CountedConnections({
        seconds: 3,
        rate: 400,
        inFlight: 8,
        timeout: 5_000,
      });
      counted.add(shared.client, VIP);
      let running = true;
      const ended = counted.ended().finally(() => {
        running = false;
      });
      let changes = 0;
      for (; running; changes++) {
        shared.import(STATES[changes % STATES.length] ?? []);
        await cluster.changeService(changes);
        await sleep(20);
      }
      await ended;
      const { total } = await counted.assertNoneFailed(200);
      await shared.answered(CLUSTER_IP);
      t.diagnostic(`${total} connections, ${changes} changes of each`);
    });

    test("a restart of the agent writes nothing", async () => {
      shared.import(["a", "b"]);
      const both = [cluster.server("a"), cluster.server("b")];
      await eventually(async () => assert.deepEqual(await shared.takers(), both));
      // The other family's rules may follow a moment later.
      await shared.settled();
      await shared.agent.stop();
      const its = await shared.settled();
      await shared.agent.start();
      assert.deepEqual(await shared.agent.writes(), [0, 0]);
      assert.equal(await shared.proxy.rules(), its);
    });

    test("while only kube-proxy has changes, the agent writes nothing", async () => {
      const ours = await shared.ours();
      const its = await shared.proxy.rules();
      for (let changes = 0; changes < 21; changes++) {
        await cluster.changeService(changes);
        await sleep(50);
      }
      assert.notEqual(await shared.settled(), its);
      assert.deepEqual(await shared.ours(), ours);
      assert.deepEqual(await shared.agent.writes(), [0, 0]);
      assert.doesNotMatch(await shared.agent.page("/metrics"), /_drift_repairs_total\{/);
    });

    test("kube-proxy's cleanup and return change no rule of ours, and the agent moves no jump", async () => {
      const ours = await shared.ours();
      await shared.proxy.stop();
      await shared.proxy.cleanup();
      assert.deepEqual(await shared.ours(), ours, "its cleanup");
      await shared.answered(VIP);
      await shared.proxy.start();
      await eventually(() => shared.answered(CLUSTER_IP));
      // The agent checks every second if the kernel counts changes, else every 5 s.
      await sleep(shared.backend.config.iptablesFlavour === "legacy" ? 6_500 : 2_500);
      assert.deepEqual(await shared.ours(), ours);
      // Then ours are not the first.
      if (shared.backend.name === "iptables" && mode !== "nftables")
        for (const base of ["PREROUTING", "OUTPUT", "POSTROUTING"])
          assert.deepEqual(await shared.jumps(base), ["KUBE", "CSP"], base);
      assert.doesNotMatch(await shared.agent.page("/metrics"), /_drift_repairs_total\{/);
      await shared.answered(VIP);
    });

    test("after all rules were flushed, both restore theirs", async () => {
      const ours = await shared.ours();
      await shared.flush();
      // Who looks at legacy tables looks less often, and all look later on a busy machine.
      await eventually(() => shared.answered(VIP), LOOKS_MS);
      await eventually(async () => assert.deepEqual(await shared.ours(), ours), LOOKS_MS);
      assert.ok((await shared.agent.metric("clusterset_agent_drift_repairs_total")) > 0);
      // In its nftables mode it finds out when it has something to write, and a change and its opposite may be nothing to it.
      let changes = 0;
      await eventually(async () => {
        await cluster.changeService(changes++);
        await shared.answered(CLUSTER_IP);
      }, LOOKS_MS);
    });

    test("cleanup changes no rule of kube-proxy, and deletes all of ours", async () => {
      await shared.agent.stop();
      const its = await shared.settled();
      await shared.cleanup();
      assert.equal(await shared.proxy.rules(), its);
      assert.deepEqual(await shared.ours(), []);
      // No host has the address. The kernel limits the ICMP errors for that (net.ipv4.icmp_ratelimit).
      assert.match(await shared.call(VIP), /^(?:unreachable|timeout)$/);
      await shared.answered(CLUSTER_IP);
    });
  }

  function overlap(backend: TestedBackend): void {
    if (backend.name !== "iptables") {
      test(`${backend.title}: an address of both a Service and an import is the import's, whichever is programmed last`, async () => {
        shared.use(backend);
        await shared.agent.start();
        await eventually(async () => assert.match(await shared.proxy.rules(), /shop\/twin/));
        assert.equal(await shared.call(VIP), "a");
        await shared.proxy.stop();
        await shared.proxy.cleanup();
        await shared.proxy.start();
        await eventually(async () => assert.match(await shared.proxy.rules(), /shop\/twin/));
        assert.equal(await shared.call(VIP), "a");
      });
      return;
    }
    test("imports get responses, and connections to unused addresses hang", async () => {
      shared.use(backend);
      await shared.agent.start();
      assert.equal(await shared.call(VIP, 81), "refused");
      await cluster.addServiceRange("overlap", "241.0.0.0/16");
      // It takes a range up with its next full pass.
      await shared.proxy.stop();
      await shared.proxy.start();
      await eventually(async () => assert.equal(await shared.call(VIP, 81), "timeout"));
      await shared.answered(VIP);
      await shared.agent.stop();
      await shared.agent.start();
      await eventually(async () =>
        assert.match(
          await shared.agent.page("/readyz?verbose"),
          /^\[-\]preflight-service-range-IPv4 service-range-overlap: .* 241\.0\.0\.0\/16/m,
        ),
      );
    });

    test("an address of both a Service and an import reaches the one that was programmed last", async () => {
      shared.import(["a"]);
      await eventually(async () => assert.equal(await shared.call(VIP), "a"));
      await cluster.addService("twin", VIP, "b");
      await eventually(async () => assert.match(await shared.proxy.rules(), /shop\/twin/));
      await shared.proxy.stop();
      await shared.proxy.start();
      await eventually(async () => assert.equal(await shared.call(VIP), "b"));
      await shared.agent.stop();
      await shared.node.exec(["nft", "delete table ip nat; delete table ip filter"]);
      await shared.agent.start();
      assert.equal(await shared.call(VIP), "a");
      assert.match(await shared.proxy.rules(), /shop\/twin/);
      await shared.agent.stop();
      await shared.cleanup();
    });
  }
});
