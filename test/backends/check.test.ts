import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { FAMILIES } from "../../api/address.ts";
import { ofFamily } from "../../api/cidr.ts";
import { BACKENDS } from "../backends.ts";
import { cidr, nodeFact } from "../generators/facts.ts";
import { Lab } from "../lab/lab.ts";
import { modelOf, planOf } from "../packets/rendered.ts";
import { Programmer } from "./programmer.ts";
import { service } from "./service.ts";

const VIPS = ["241.0.1.7", "198.51.100.7", "fd00:241::7"];
const OBJECTS = service("shop/web", VIPS, ["10.1.0.11", "fd00:10:1::11"]);
const NODE = nodeFact({ explicitVipCidrs: [cidr("198.51.100.0/24")] });
const PLAN = [...planOf(modelOf(OBJECTS, NODE), NODE)];

for (const backend of BACKENDS) {
  for (const family of FAMILIES) {
    const clusterSetCidrs = ofFamily(NODE.clusterSetCidrs, family);
    describe(`a drift check after a change by another program, ${backend.title}, ${family}`, () => {
      let lab: Lab;
      let programmer: Programmer;
      const services = PLAN.map(
        ([key, all]) => [key, all.filter((service) => service.family === family)] as const,
      );
      const repair = () =>
        programmer.hold({ family, clusterSetCidrs, config: {}, services, afresh: true });
      before(async () => {
        lab = await Lab.oneNode();
        programmer = await Programmer.start(lab, lab.node("c1", "n1"), backend);
        await repair();
        assert.deepEqual(await programmer.check(family), []);
      });
      after(() => lab.remove());

      for (const { what, command, found, more, gone } of backend.foreignChanges(family)) {
        if (found === undefined) continue;
        test(`finds ${what}; one transaction repairs it`, async () => {
          assert.deepEqual(await programmer.check(family, "gone"), []);
          await lab.node("c1", "n1").exec(["sh", "-c", command]);
          // First: after a check of everything that finds nothing, none reads again.
          if (gone) assert.notDeepEqual(await programmer.check(family, "gone"), []);
          const drift = (await programmer.check(family)).map(inShort).sort();
          const shown = more ? drift.filter((one) => found.includes(one)) : drift;
          assert.deepEqual([...new Set(shown)], found.toSorted(), drift.join("\n"));
          assert.notEqual((await repair()).done, "");
          assert.deepEqual(await programmer.check(family), []);
          // IPVS deletes a destination once it has drained.
          assert.match((await repair()).done, /^(delete-destination \S+ \S+ \S+ \S+ \S+)?$/);
        });
      }
    });
  }
}

/** Drift in a rule as its reason, table, chain and target; chains of services without their names. */
function inShort(drift: string): string {
  const words = drift.split(" ");
  const object = [...words.slice(0, 3), ...words.slice(3).slice(-1)].join(" ");
  return object.replace(/(CSP-SVC)-\S+/, "$1");
}
