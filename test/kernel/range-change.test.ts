import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ANNOTATION_PREVIOUS_IPS } from "../../api/keys.ts";
import { BACKENDS } from "../backends.ts";
import { CountedConnections, Held } from "../connections/connections.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { request } from "../lab/programs.ts";
import { AgentNode, type AgentProcess, eventually } from "../stages/agent-process.ts";

const HTTP = { name: "http", port: 80, protocol: "TCP" };
const OLD = { range: "241.4.0.0/16", vip: "241.4.0.7" };
const NEW = { range: "242.4.0.0/16", vip: "242.4.0.7" };
const PACE = { seconds: 3_600, rate: 50, inFlight: 8, timeout: 5_000 };
const PATIENCE = 60_000;

/** The import as the controller writes it; `previous`: its annotation. */
function importOf(vip: string, previous?: string): object {
  const object = importObject("shop/web", [vip], [HTTP]) as { metadata: object };
  if (previous === undefined) return object;
  const annotations = { [ANNOTATION_PREVIOUS_IPS]: previous };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

// Of the two flavours of iptables, whose rules are the same, one; test/packets/range-change.test.ts follows packets of every backend.
for (const backend of BACKENDS.filter(({ title }) => !title.includes("legacy"))) {
  describe(`a change of the ClusterSet CIDR under load, ${backend.title}`, () => {
    let on: AgentNode;
    let agent: AgentProcess | undefined;
    /** Restarts the agent with these ranges, as a rollout does. */
    const rollOut = async (ranges: string) => {
      await agent?.stop();
      const flags = ["--region", "eu-west", "--clusterset-cidr", ranges, ...backend.flags];
      agent = on.agent(flags);
      await agent.start();
    };
    const live = (vip: string) =>
      eventually(async () => {
        const page = (await agent?.page("/kernel/shop/web")) ?? "";
        assert.ok(page.includes(`"${vip}"`), page);
      }, PATIENCE);
    const connectTo = (vip: string) => {
      const counted = new CountedConnections(PACE);
      counted.add(on.pod("client"), vip);
      return counted;
    };

    before(async () => {
      on = await AgentNode.create({ web: ["10.1.0.11"], client: [] });
      await on.serve("web");
      // A server in TIME_WAIT drops the SYN of a client port that is used again: not a fault of rules.
      await on.pod("web").exec(["sysctl", "-qw", "net.ipv4.tcp_max_tw_buckets=0"]);
      const origin = { cluster: "c1", region: "eu-west" };
      const target = [{ ...HTTP, port: 8080 }];
      on.manifests.write("import", importOf(OLD.vip));
      on.manifests.write("slice", sliceObject("web-c1", "shop/web", origin, target, ["10.1.0.11"]));
    });
    after(() => on[Symbol.asyncDispose]());

    test("no connection to the VIP that DNS returns, or returned before, fails in any step", async () => {
      await rollOut(OLD.range);
      await live(OLD.vip);
      const toOld = connectTo(OLD.vip);
      const client = on.pod("client").spawn(request("--hold", `http://${OLD.vip}`));
      const held = new Held(client, await client.line(/name/, PATIENCE));
      await rollOut(`${OLD.range},${NEW.range}`);
      on.manifests.write("import", importOf(NEW.vip, OLD.vip));
      await live(NEW.vip);
      const toNew = connectTo(NEW.vip);
      await rollOut(`${NEW.range},${OLD.range}`);
      await sleep(2_000);
      // All names that clients have cached are older than the TTL.
      await toOld.assertNoneFailed(1);
      on.manifests.write("import", importOf(NEW.vip));
      await sleep(2_000);
      await rollOut(NEW.range);
      await sleep(2_000);
      await held.close();
      assert.equal(held.fault, undefined, "a connection that was established to the old VIP");
      await toNew.assertNoneFailed(1);
    });
  });
}
