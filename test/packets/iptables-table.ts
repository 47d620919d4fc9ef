import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Flavour } from "../../agent/backends/iptables/flavour.ts";
import { IptablesBackend } from "../../agent/backends/iptables/iptables.ts";
import { homeFact } from "./address-plan.ts";
import type { PacketCase } from "./packet-case.ts";
import { REAL_CASES, RealPackets, skipReason } from "./real-packets.ts";
import { modelOf, planOf, wanted } from "./rendered.ts";

/** Tests the whole table, with real connections through what the iptables backend makes of it. */
export function testTable(flavour: Flavour): void {
  describe(`the table of packets, with real connections, ${flavour} flavour`, () => {
    let world: RealPackets;
    before(async () => {
      world = await RealPackets.start();
    });
    after(() => world.remove());

    for (const one of REAL_CASES) {
      test(one.name, { skip: skipReason(one) }, async () => {
        await program(world, one, flavour);
        await world.assertFlows(one);
      });
    }
  });
}

/** Makes the kernel of the node hold what the case wants, as the agent would from where it was. */
async function program(world: RealPackets, one: PacketCase, flavour: Flavour): Promise<void> {
  const node = one.node(homeFact());
  const services = planOf(modelOf(one.objects, node), node);
  const { within } = world.home;
  for (const clusterSetCidr of node.clusterSetCidrs) {
    const { family } = clusterSetCidr;
    const onRespawn = () => assert.fail("iptables-restore refused what was rendered");
    const masquerade = { mode: one.masquerade, podCidrs: node.podCidrs };
    const options = { family, clusterSetCidr, masquerade, flavour, within, onRespawn };
    const backend = new IptablesBackend(options);
    const believed = await backend.read();
    const tx = backend.diff(believed, wanted(services, family, node, one.masquerade));
    if (!tx.empty) await backend.apply(tx, believed);
    await backend.close();
  }
}
