import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { nftables } from "../backends/nftables.ts";
import type { TestedBackend } from "../backends/tested-backend.ts";
import { BACKENDS } from "../backends.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { request } from "../lab/programs.ts";
import { AgentNode, eventually } from "../stages/agent-process.ts";

const PODS = { a: 11, b: 12, c: 13 } as const;
type Pod = keyof typeof PODS;
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const AGAIN = { name: "again", port: 81, protocol: "TCP" };
const FAMILIES = {
  IPv4: { vip: "241.0.0.10", host: "241.0.0.10", pods: "10.1.0." },
  IPv6: { vip: "fd00:241::10", host: "[fd00:241::10]", pods: "fd00:10:1::" },
} as const;
const CASES: readonly Case[] = [
  ...BACKENDS.flatMap((backend) =>
    (["IPv4", "IPv6"] as const).map((family) => ({ backend, family, title: backend.title })),
  ),
  ...BACKENDS.filter((backend) => backend === nftables).map((backend) => ({
    ...{ backend, family: "IPv6" as const, title: `${backend.title} with nft 1.1` },
    newer: true,
  })),
];

interface Case {
  readonly backend: TestedBackend;
  readonly family: keyof typeof FAMILIES;
  readonly title: string;
  /** With the nft of Debian 13. */
  readonly newer?: boolean;
}

/** All programs of this test, too: nft 1.0 crashes when it reads a set that 1.1 wrote. */
function withNewerNft(t: TestContext): void {
  const before = process.env.PATH;
  const directory = execFileSync(join(import.meta.dirname, "debian-13-nft"), { encoding: "utf8" });
  process.env.PATH = `${directory.trim()}:${before}`;
  t.after(() => {
    process.env.PATH = before;
  });
}

describe("ClientIP affinity, in the kernel", () => {
  for (const { backend, family, title, newer = false } of CASES) {
    const { vip, host, pods: prefix } = FAMILIES[family];
    // nft 1.0.6 aborts at the rule that remembers IPv6 clients: the hash alone covers all ports, and not changes.
    const hashed = backend.name === "nftables" && family === "IPv6" && !newer;
    const changes = hashed ? "" : "survives changes, ends with its time, ";
    test(`affinity ${changes}covers all ports, and ends when the endpoint is removed, ${family}, ${title}`, async (t) => {
      if (newer) withNewerNft(t);
      await using on = await AgentNode.create({ a: [], b: [], c: [], client: [] });
      const { node, manifests } = on;
      await on.serve(...Object.keys(PODS));
      const sticky = { sessionAffinity: "ClientIP" };
      manifests.write("import", importObject("demo/serve", [vip], [HTTP, AGAIN], sticky));
      const ranges = ["--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];
      const agent = on.agent([...ranges, ...backend.flags]);

      /** Writes the endpoints, and waits until exactly these are in the kernel. */
      const use = async (...pods: readonly Pod[]) => {
        const targets = [HTTP, AGAIN].map((port) => ({ ...port, port: 8080 }));
        const addresses = pods.map((pod) => `${prefix}${PODS[pod]}`);
        const origin = { cluster: "c1" };
        manifests.write("slice", sliceObject("serve-c1", "demo/serve", origin, targets, addresses));
        await eventually(async () => {
          assert.deepEqual(await backend.takers(node, family, "TCP"), [...addresses].sort());
        });
      };
      /** The one pod that all connections come to, six over each port. */
      const answers = async (ports: readonly number[] = [80, 81]): Promise<Pod> => {
        const names = new Set<string>();
        for (const port of ports) {
          const argv = request("--count", "6", `tcp://${host}:${port}`);
          const lines = (await on.pod("client").exec(argv)).split("\n");
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
      const kept = await answers();
      if (!hashed) assert.equal(kept, first, "the chain was rewritten, and the memory is gone");
      await use(other);
      assert.equal(await answers(), other);
      await use(first, other);
      const again = await answers();
      if (!hashed) assert.equal(again, other, "an endpoint that left has kept its clients");
      assert.ok((await agent.metric("clusterset_agent_affinity_clients_limit")) > 0);

      // The time of a client begins anew with each connection, and when it is over, the client gets any endpoint.
      if (hashed) return;
      const short = { ...sticky, sessionAffinityConfig: { clientIP: { timeoutSeconds: 2 } } };
      manifests.write("import", importObject("demo/serve", [vip], [HTTP, AGAIN], short));
      await use("a", "b", "c");
      // Over one port: the time may be over before the program for the other one has started.
      const before = await answers([80]);
      await eventually(async () => {
        await setTimeout(2_500);
        assert.notEqual(
          await answers([80]),
          before,
          "the endpoint stays although the time is over",
        );
      }, 60_000);
    });
  }
});
