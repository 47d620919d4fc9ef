import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Namespace } from "../lab/namespace.ts";
import { request } from "../lab/programs.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../support/agent-process.ts";
import { importObject, sliceObject } from "../support/objects.ts";
import { CLUSTER_IP, Cluster } from "./cluster.ts";
import { KubeProxy, type Mode } from "./kube-proxy.ts";

const VIP = "241.0.1.7";
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const MODES: readonly Mode[] = ["iptables-nft", "iptables-legacy", "nftables"];

describe("beside the real kube-proxy", () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await Cluster.create(MODES);
  });
  after(() => cluster.remove());

  for (const mode of MODES) {
    describe(`in its mode ${mode}`, () => {
      let proxy: KubeProxy;
      let agent: AgentProcess;
      let manifests: ManifestDirectory;
      const callers = () => [cluster.client(mode), cluster.node(mode)];
      const flavour = mode === "iptables-legacy" ? "legacy" : "nft";
      const tool = `iptables-${flavour}`;

      /** The import has these endpoints: of this cluster `a` and `b`, of another `c`. */
      const endpoints = (names: readonly ("a" | "b" | "c")[]) => {
        const slices = (["c1", "c2"] as const).map((origin) => {
          const here = names.filter((name) => (name === "c") === (origin === "c2"));
          const addresses = here.map((name) => cluster.server(name));
          const target = { ...HTTP, port: 8080 };
          return sliceObject(`web-${origin}`, "shop/web", { cluster: origin }, [target], addresses);
        });
        manifests.write("web", importObject("shop/web", [VIP], [HTTP]), ...slices);
      };

      before(async () => {
        const kubeconfig = cluster.plane.kubeconfig({ user: "admin" });
        proxy = new KubeProxy(cluster.lab, cluster.node(mode), mode, mode, kubeconfig);
        manifests = new ManifestDirectory(cluster.lab, `manifests-${mode}`);
        agent = new AgentProcess(cluster.node(mode), manifests.path, ["--cluster-id", "c1"]);
        await proxy.start();
        await eventually(() => answered(callers(), CLUSTER_IP));
      });
      after(async () => {
        await agent.stop();
        await proxy.stop();
      });

      test("our install leaves every rule of its as it was, and both are answered", async () => {
        const its = await settled(proxy);
        endpoints(["a", "b", "c"]);
        await agent.start();
        await answered(callers(), VIP);
        assert.match(agent.log, new RegExp(`"flavour":"${flavour}"`));
        assert.equal(await proxy.rules(), its);
        await answered(callers(), CLUSTER_IP);
      });

      test("no connection fails or hangs while both have much to change", async (t) => {
        const flags = ["--for", "4", "--rate", "300", "--in-flight", "8", "--every", "500"];
        const clients = [VIP, CLUSTER_IP].map((address) =>
          cluster.client(mode).spawn(request(...flags, "--timeout", "5000", `tcp://${address}:80`)),
        );
        const ended = Promise.all(clients.map((client) => client.exited));
        let [changes, over] = [0, false];
        void ended.finally(() => {
          over = true;
        });
        while (!over) {
          endpoints((["ab", "b", "c", "abc", "a"][changes % 5] ?? "").split("") as "a"[]);
          await cluster.changeService(changes++);
          await sleep(20);
        }
        const sums = clients.map((client) => JSON.parse(client.lines.at(-1) ?? "{}"));
        for (const { total, answered, errors } of sums) {
          assert.deepEqual({ answered, errors }, { answered: total, errors: {} });
          assert.ok(total >= 200, `only ${total} connections`);
        }
        t.diagnostic(`${sums.map(({ total }) => total).join(", ")} connections, ${changes} changes`);
      });

      test("our restart writes nothing", async () => {
        endpoints(["a", "b", "c"]);
        await eventually(async () => assert.match(await ours(agent, tool), /local c1/));
        await agent.stop();
        const its = await settled(proxy);
        await agent.start();
        assert.equal(await agent.metric("clusterset_agent_kernel_objects_written_total"), 0);
        assert.equal(await agent.metric("clusterset_agent_kernel_objects_deleted_total"), 0);
        assert.equal(await proxy.rules(), its);
      });
    });
  }
});

/** What it has in the kernel, once it has nothing more to do. */
async function settled(proxy: KubeProxy): Promise<string> {
  for (let last = ""; ; ) {
    const now = await proxy.rules();
    if (now === last) return now;
    last = now;
    await sleep(1_500);
  }
}

async function ours(agent: AgentProcess, tool: string): Promise<string> {
  const lines = (await agent.node.exec([`${tool}-save`])).split("\n");
  return lines.filter((line) => line.includes("CSP-")).join("\n");
}

/** Throws unless every one of these places is answered there. */
async function answered(callers: readonly Namespace[], address: string): Promise<void> {
  await Promise.all(callers.map((caller) => caller.exec(request(`tcp://${address}:80`))));
}
