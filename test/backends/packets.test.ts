import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { FAMILIES } from "../../api/address.ts";
import { ofFamily } from "../../api/cidr.ts";
import { PACKET_BACKENDS, packetCasesOf } from "../backends.ts";
import { homeFact } from "../packets/address-plan.ts";
import type { PacketCase } from "../packets/packet-case.ts";
import { RealPackets, skipReason } from "../packets/real-packets.ts";
import { modelOf, planOf } from "../packets/rendered.ts";
import { Programmer } from "./programmer.ts";

describe("the packet table, with real connections", () => {
  let world: RealPackets;
  before(async () => {
    world = await RealPackets.start();
  });
  after(() => world.remove());

  for (const backend of PACKET_BACKENDS) {
    describe(backend.title, () => {
      let programmer: Programmer;
      before(async () => {
        programmer = await Programmer.start(world.lab, world.home, backend);
      });

      for (const one of packetCasesOf(backend).filter(({ real }) => real)) {
        test(one.name, { skip: skipReason(one) }, async () => {
          await program(one, programmer);
          await world.assertFlows({ ...one, flows: one.flows.map(backend.flow) });
        });
      }

      test("removal deletes all objects of ours, and can be repeated", async () => {
        const [removed, again] = await programmer.remove();
        assert.ok(removed > 0);
        assert.equal(again, 0);
        assert.deepEqual(await backend.own(world.home), []);
      });
    });
  }
});

/** Programs the node for a case, from its state after the previous case. */
async function program(one: PacketCase, programmer: Programmer): Promise<void> {
  const node = one.node(homeFact());
  const plan = planOf(modelOf(one.objects, node), node);
  const config = { masquerade: one.masquerade, podCidrs: node.podCidrs };
  for (const family of FAMILIES) {
    const clusterSetCidrs = ofFamily(node.clusterSetCidrs, family);
    const services = [...plan].map(
      ([key, all]) => [key, all.filter((service) => service.family === family)] as const,
    );
    const { left, writesLeft } = await programmer.hold({
      family,
      clusterSetCidrs,
      config,
      services,
    });
    // Draining objects may be deleted at any time, when their last connection ends.
    assert.equal(writesLeft, 0, left);
  }
}
