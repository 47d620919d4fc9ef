import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Address, FAMILIES } from "../../api/address.ts";
import { type Cidr, contains } from "../../api/cidr.ts";
import { SCHEDULERS } from "../../api/scheduler.ts";
import { addressAt, HOME, homeFact } from "../packets/address-plan.ts";
import { testTableIn } from "../packets/iptables-table.ts";
import type { Flow, PacketCase } from "../packets/packet-case.ts";
import { REAL_CASES, RealPackets, skipReason } from "../packets/real-packets.ts";
import { modelOf, planOf } from "../packets/rendered.ts";
import { virtualService } from "../support/services.ts";
import { cidr } from "../support/worlds.ts";
import { Programmer } from "./order.ts";

/** Where the endpoint is that an explicit VIP of other cases stands for. */
const ENDPOINT = "c2/n1/a";

/**
 * An explicit VIP that is another import's endpoint cannot be an address of the node as well (`vip-in-use`): what is sent to
 * it goes to that endpoint, on its own port.
 */
function isEndpoint({ to }: Flow): boolean {
  return FAMILIES.some((family) => addressAt(ENDPOINT, family) === to.address);
}

/**
 * IPVS remembers a client for each VIP and port by itself. And what the node itself connects to is masqueraded: it has the
 * VIP as its source, which is the node's own. A pod of this node then sees the link to it, others the address as ever.
 */
function asWithIpvs(flow: Flow): Flow {
  if (isEndpoint(flow)) return { ...flow, to: { ...flow.to, port: 8080 }, expect: "untouched" };
  const again = flow.again.length === 0 ? [] : [flow.to, flow.to];
  if (typeof flow.expect === "string" || flow.from !== HOME) return { ...flow, again };
  // By the uplink it is the node's first address, which others see anyway.
  const isHere = (pod: string) => pod.startsWith(`${HOME}/`);
  return {
    ...{ ...flow, again },
    expect: flow.expect.map((one) => ({ ...one, masquerade: isHere(one.pod) })),
  };
}

describe("on Debian's stock kernel", () => {
  let world: RealPackets;
  before(async () => {
    world = await RealPackets.start();
  });
  after(() => world.remove());

  testTableIn(() => world, "nft");

  describe("the table of packets, with real connections, IPVS", () => {
    let programmer: Programmer;
    before(async () => {
      programmer = await Programmer.start(world.lab, world.home);
    });

    for (const one of REAL_CASES) {
      test(one.name, { skip: skipReason(one) }, async () => {
        await program(one, programmer);
        await world.assertFlows({ ...one, flows: one.flows.map(asWithIpvs) });
      });
    }

    test("what ipvsadm shows is what was meant, and each server carries our mark", async () => {
      const lines = (await world.home.exec(["ipvsadm", "-Sn"])).trim().split("\n");
      const servers = lines.filter((line) => line.startsWith("-A"));
      assert.ok(servers.length > 0);
      for (const line of servers) assert.match(line, / -b \S*flag-3/);
      for (const line of lines) assert.match(line, /^-A | -m -w [01]$/);
    });

    for (const scheduler of SCHEDULERS) {
      test(`scheduler ${scheduler}: the kernel takes it, and gives it back as it was meant`, async () => {
        const clusterSetCidr = cidr("241.0.0.0/8");
        const masquerade = { mode: "none", podCidrs: [] } as const;
        const service = virtualService({ scheduler, affinitySeconds: 600 });
        const services = [["demo/serve", [service]]] as const;
        const order = { clusterSetCidr, masquerade, scheduler: "rr", services } as const;
        const { left } = await programmer.obey({ kind: "hold", ...order });
        assert.doesNotMatch(left, /set-server|new-server/);
        const lines = (await world.home.exec(["ipvsadm", "-Sn"])).split("\n");
        const server = lines.find((line) => line.startsWith("-A -t 241.0.0.10:80 "));
        assert.match(
          server ?? "",
          new RegExp(` -s ${scheduler} -p 600 -b \\S*(flag-3|[sm]h-fallback)`),
        );
      });
    }

    test("cleaning up leaves nothing of ours, and what others have made", async () => {
      const { home } = world;
      const [theirs, same] = ["198.18.0.1:80", "241.0.0.10:9999"];
      for (const address of [theirs, same])
        await home.exec(["ipvsadm", "-A", "-t", address, "-s", "rr"]);
      await home.exec(["nft", "add", "table", "ip", "theirs"]);
      const isTheirs = (line: string) => !line.includes("csp-ipvs");
      const tables = async () => (await home.exec(["nft", "list", "tables"])).trim().split("\n");
      const before = await tables();
      // Somebody may have taken a part of ours away.
      for (const verb of ["flush", "delete"])
        await home.exec(["nft", verb, "chain", "ip", "csp-ipvs", "bind-incoming"]);
      const { left } = await programmer.obey({ kind: "remove" });
      assert.equal(left, "0 0");
      const servers = await home.exec(["ipvsadm", "-Sn"]);
      assert.deepEqual(servers.trim().split("\n"), [
        `-A -t ${theirs} -s rr`,
        `-A -t ${same} -s rr`,
      ]);
      assert.deepEqual(await tables(), before.filter(isTheirs));
      assert.ok(before.includes("table ip theirs") && !before.every(isTheirs));
      assert.notEqual((await home.run(["ip", "link", "show", "csp-ipvs0"])).code, 0);
    });
  });
});

/** Makes the kernel of the node hold what the case wants, as the agent would from where it was. */
async function program(one: PacketCase, programmer: Programmer): Promise<void> {
  const node = one.node(homeFact());
  const mustBeFree = (vip: Address) => !node.clusterSetCidrs.some((range) => contains(range, vip));
  const services = planOf(modelOf(one.objects, node, mustBeFree), node);
  const masquerade = { mode: one.masquerade, podCidrs: node.podCidrs };
  const ofFamily = async (clusterSetCidr: Cidr) => {
    const { family } = clusterSetCidr;
    const mine = [...services].map(
      ([key, list]) => [key, list.filter((service) => service.family === family)] as const,
    );
    const order = { clusterSetCidr, masquerade, scheduler: "rr", services: mine } as const;
    const { left } = await programmer.obey({ kind: "hold", ...order });
    // Connections of earlier cases end when they like, and what they kept goes.
    for (const line of left.split("\n")) assert.match(line, /^$|^(delete-|address delete)/);
  };
  await Promise.all(node.clusterSetCidrs.map(ofFamily));
}
