import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BACKENDS } from "../backends.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import { request, serve } from "../lab/programs.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../stages/agent-process.ts";

const PODS = { a: "10.1.0.11", b: "10.1.0.12", c: "10.1.0.13" } as const;
type Pod = keyof typeof PODS;
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const AGAIN = { name: "again", port: 81, protocol: "TCP" };
const VIP = "241.0.0.10";

describe("ClientIP affinity, in the kernel", () => {
  for (const backend of BACKENDS) {
    test(`affinity survives changes, covers all ports, and ends when the endpoint is removed, ${backend.title}`, async () => {
      await using lab = await Lab.create({
        clusters: [
          { id: "c1", nodes: [{ name: "n1", pods: { a: [], b: [], c: [], client: [] } }] },
        ],
      });
      const node = lab.node("c1", "n1");
      await Promise.all(
        Object.keys(PODS).map((pod) =>
          lab
            .pod("c1", "n1", pod)
            .spawn(serve("--name", pod))
            .line(/serving/),
        ),
      );
      const manifests = new ManifestDirectory(lab, "manifests");
      const sticky = { sessionAffinity: "ClientIP" };
      manifests.write("import", importObject("demo/serve", [VIP], [HTTP, AGAIN], sticky));
      const flags = ["--cluster-id", "c1", ...backend.flags];
      const agent = new AgentProcess(node, manifests.path, flags);

      /** Writes the endpoints, and waits until exactly these are in the kernel. */
      const use = async (...pods: readonly Pod[]) => {
        const targets = [HTTP, AGAIN].map((port) => ({ ...port, port: 8080 }));
        const addresses = pods.map((pod) => PODS[pod]);
        const origin = { cluster: "c1" };
        manifests.write("slice", sliceObject("serve-c1", "demo/serve", origin, targets, addresses));
        await eventually(async () => {
          assert.deepEqual(await backend.takers(node, "IPv4", "TCP"), [...addresses].sort());
        });
      };
      /** The one pod that all of twelve connections, over both ports, come to. */
      const answers = async (): Promise<Pod> => {
        const names = new Set<string>();
        for (const port of [80, 81]) {
          const argv = request("--count", "6", `tcp://${VIP}:${port}`);
          const lines = (await lab.pod("c1", "n1", "client").exec(argv)).split("\n");
          for (const line of lines) if (line.startsWith('{"at"')) names.add(JSON.parse(line).name);
        }
        const [pod, ...others] = names;
        assert.deepEqual(others, [], `came to ${[...names].join(", ")}`);
        return pod as Pod;
      };

      await agent.start();
      await use("a", "b", "c");
      const first = await answers();
      const [other] = (["a", "b", "c"] as const).filter((pod) => pod !== first);
      assert.ok(other);
      await use(first, other);
      assert.equal(await answers(), first, "the chain was rewritten, and the memory is gone");
      await use(other);
      assert.equal(await answers(), other);
      await use(first, other);
      assert.equal(await answers(), other, "an endpoint that left has kept its clients");
      assert.ok((await agent.metric("clusterset_agent_affinity_clients_limit")) > 0);
      await agent.stop();
    });
  }
});
