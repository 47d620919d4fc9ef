import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Flavour } from "../../agent/backends/iptables/flavour.ts";
import { IptablesBackend } from "../../agent/backends/iptables/iptables.ts";
import { removeOwn } from "../../agent/backends/iptables/remove.ts";
import type { Believed } from "../../agent/backends/iptables/tables.ts";
import { FAMILIES, type Family } from "../../api/address.ts";
import { homeFact } from "./address-plan.ts";
import type { PacketCase } from "./packet-case.ts";
import { REAL_CASES, RealPackets, skipReason } from "./real-packets.ts";
import { clusterSetCidrOf, modelOf, planOf, wanted } from "./rendered.ts";

/** Tests the whole table, with real connections through what the iptables backend makes of it, in a world of its own. */
export function testTable(flavour: Flavour): void {
  describe("in a world of its own", () => {
    let world: RealPackets;
    before(async () => {
      world = await RealPackets.start();
    });
    after(() => world.remove());
    testTableIn(() => world, flavour);
  });
}

/** The same in somebody's world, where nothing of it is left afterwards. */
export function testTableIn(world: () => RealPackets, flavour: Flavour): void {
  describe(`the table of packets, with real connections, ${flavour} flavour`, () => {
    let kernels: readonly Kernel[];
    before(async () => {
      kernels = await Promise.all(FAMILIES.map((family) => Kernel.read(world(), family, flavour)));
    });
    after(async () => {
      await Promise.all(kernels.map((one) => one.close()));
      const within = [...world().home.within];
      for (const family of FAMILIES) await removeOwn(flavour, family, { first: "dnat", within });
    });

    for (const one of REAL_CASES) {
      test(one.name, { skip: skipReason(one) }, async () => {
        await Promise.all(kernels.map((kernel) => kernel.program(one)));
        await world().assertFlows(one);
      });
    }
  });
}

/** What the node's kernel holds of one family, as an agent would that lives through the whole table. */
class Kernel {
  readonly #family: Family;
  readonly #backend: IptablesBackend;
  readonly #believed: Believed;

  private constructor(family: Family, backend: IptablesBackend, believed: Believed) {
    this.#family = family;
    this.#backend = backend;
    this.#believed = believed;
  }

  static async read({ home }: RealPackets, family: Family, flavour: Flavour): Promise<Kernel> {
    const onRespawn = () => assert.fail("iptables-restore refused what was rendered");
    const clusterSetCidr = clusterSetCidrOf(homeFact(), family);
    // Only for rulesets, and these are made of each case's own node and policy.
    const masquerade = { mode: "none", podCidrs: [] } as const;
    const { within } = home;
    const options = { family, clusterSetCidr, masquerade, flavour, within, onRespawn };
    const backend = new IptablesBackend(options);
    return new Kernel(family, backend, await backend.read());
  }

  async program(one: PacketCase): Promise<void> {
    const node = one.node(homeFact());
    const services = planOf(modelOf(one.objects, node), node);
    const changes = wanted(services, this.#family, node, one.masquerade);
    const tx = this.#backend.diff(this.#believed, changes);
    if (!tx.empty) await this.#backend.apply(tx, this.#believed);
  }

  close(): Promise<void> {
    return this.#backend.close();
  }
}
