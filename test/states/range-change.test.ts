import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { finished } from "../../agent/backends/backend.ts";
import { FAMILIES } from "../../api/address.ts";
import { MODELLED } from "../backends.ts";
import { ModelIpvs } from "../doubles/model-ipvs.ts";
import { cidr, nodeFact } from "../generators/facts.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { modelOf, planOf, setAll } from "../packets/rendered.ts";
import { optionsOf } from "./replay.ts";

const OLD = ["241.4.0.0/16", "fd00:241::/108"];
const NEW = ["242.4.0.0/16", "fd00:242::/108"];
/** A part of the old one. */
const PART = ["241.4.0.0/18", "fd00:241::/112"];
const RANGES = [OLD, [...OLD, ...NEW], [...NEW, ...OLD], NEW, [...PART, ...OLD], PART];

/** VIPs in all ranges: more than one chain dispatches. */
const OBJECTS = Array.from({ length: 40 }, (_, i) => {
  const key = `shop/s${i}` as const;
  const place = i % 2 === 0 ? "241" : "242";
  const vips = [
    `${place}.4.${i * 5}.${i + 1}`,
    `fd00:${place}::${i % 4}:${(i * 1601 + 1).toString(16)}`,
  ];
  const endpoint = { name: "http", protocol: "TCP", port: 8080 };
  return [
    importObject(key, vips, [{ name: "http", port: 80 }]),
    sliceObject(`s${i}-4`, key, { cluster: "c1" }, [endpoint], [`10.1.0.${i + 1}`]),
    sliceObject(`s${i}-6`, key, { cluster: "c1" }, [endpoint], [`fd00:10:1::${i + 1}`]),
  ];
}).flat();

for (const backend of MODELLED) {
  describe(backend.name, () => {
    for (const family of FAMILIES) {
      test(`${family}: a restart with other ranges ends in the state of a fresh start, and writes nothing again`, () => {
        for (const before of RANGES) {
          for (const after of RANGES) {
            const where = `${before.join()} to ${after.join()}`;
            const kernel = kernelOf(before);
            start(before, kernel);
            const fresh = kernelOf(after);
            assert.deepEqual(start(after, kernel).shown, start(after, fresh).shown, where);
            // IPVS deletes what it has drained.
            start(after, kernel);
            assert.equal(start(after, kernel).text, "", where);
          }
        }
      });

      const kernelOf = (ranges: readonly string[]) =>
        backend.pure(family, ranges.map(cidr)).kernel();

      /** What an agent that starts with these ranges writes, and what the kernel then holds. */
      function start(ranges: readonly string[], kernel: ReturnType<typeof kernelOf>) {
        const clusterSetCidrs = ranges.map(cidr);
        if (kernel instanceof ModelIpvs) kernel.options = optionsOf(family, clusterSetCidrs);
        const node = nodeFact({ clusterSetCidrs });
        const pure = backend.pure(family, clusterSetCidrs);
        const ruleset = pure.ruleset();
        setAll(ruleset, planOf(modelOf(OBJECTS, node), node), family);
        const state = kernel.read();
        const tx = finished(pure.diff(state, finished(ruleset.take())));
        kernel.run(tx);
        tx.settle(state);
        return { text: tx.toString(), shown: pure.shown(kernel.read(), state) };
      }
    }
  });
}
