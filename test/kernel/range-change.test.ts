import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FAMILIES } from "../../api/address.ts";
import { ANNOTATION_PREVIOUS_IPS } from "../../api/keys.ts";
import { BACKENDS } from "../backends.ts";
import { CountedConnections, Held } from "../connections/connections.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { request } from "../lab/programs.ts";
import { SLOWNESS } from "../lab/slowness.ts";
import { AgentNode, type AgentProcess, eventually } from "../stages/agent-process.ts";

const HTTP = { name: "http", port: 80, protocol: "TCP" };
/** Of each family. */
const OLD = { ranges: "241.4.0.0/16,fd00:241::/112", vips: ["241.4.0.7", "fd00:241::7"] };
const NEW = { ranges: "242.4.0.0/16,fd00:242::/112", vips: ["242.4.0.7", "fd00:242::7"] };
const PACE = { seconds: 3_600, rate: 50 / SLOWNESS, inFlight: 8, timeout: 5_000 * SLOWNESS };
const PATIENCE = 60_000 * SLOWNESS;

/** The import as the controller writes it; `previous`: its annotation. */
function importOf(vips: readonly string[], previous?: readonly string[]): object {
  const object = importObject("shop/web", vips, [HTTP]) as { metadata: object };
  if (previous === undefined) return object;
  const annotations = { [ANNOTATION_PREVIOUS_IPS]: previous.join() };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

for (const backend of BACKENDS) {
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
    const live = (vips: readonly string[]) =>
      eventually(async () => {
        const page = (await agent?.page("/kernel/shop/web")) ?? "";
        for (const vip of vips) assert.ok(page.includes(`"${vip}"`), page);
      }, PATIENCE);
    const connectTo = (vips: readonly string[]) => {
      const counted = new CountedConnections(PACE);
      for (const vip of vips) counted.add(on.pod("client"), vip);
      return counted;
    };
    const hold = async (vip: string) => {
      const host = vip.includes(":") ? `[${vip}]` : vip;
      const client = on.pod("client").spawn(request("--hold", `http://${host}`));
      return new Held(client, await client.line(/name/, PATIENCE));
    };

    before(async () => {
      on = await AgentNode.create({ web: [], client: [] });
      await on.serve("web");
      // A server in TIME_WAIT drops the SYN of a client port that is used again: not a fault of rules.
      await on.pod("web").exec(["sysctl", "-qw", "net.ipv4.tcp_max_tw_buckets=0"]);
      const origin = { cluster: "c1", region: "eu-west" };
      const target = [{ ...HTTP, port: 8080 }];
      const slices = FAMILIES.map((family) => {
        const endpoints = [on.pod("web").address(family)];
        return sliceObject(`web-${family.toLowerCase()}`, "shop/web", origin, target, endpoints);
      });
      on.manifests.write("import", importOf(OLD.vips));
      on.manifests.write("slices", ...slices);
    });
    after(() => on[Symbol.asyncDispose]());

    test("no connection to the VIP that DNS returns, or returned before, fails in any step", async () => {
      await rollOut(OLD.ranges);
      await live(OLD.vips);
      const toOld = connectTo(OLD.vips);
      const held = await Promise.all(OLD.vips.map(hold));
      await rollOut(`${OLD.ranges},${NEW.ranges}`);
      on.manifests.write("import", importOf(NEW.vips, OLD.vips));
      await live(NEW.vips);
      const toNew = connectTo(NEW.vips);
      await rollOut(`${NEW.ranges},${OLD.ranges}`);
      await sleep(2_000 * SLOWNESS);
      // All names that clients have cached are older than the TTL.
      await toOld.assertNoneFailed(1);
      on.manifests.write("import", importOf(NEW.vips));
      await sleep(2_000 * SLOWNESS);
      await rollOut(NEW.ranges);
      await sleep(2_000 * SLOWNESS);
      for (const one of held) {
        await one.close();
        assert.equal(one.fault, undefined, "a connection that was established to an old VIP");
      }
      await toNew.assertNoneFailed(1);
    });
  });
}
