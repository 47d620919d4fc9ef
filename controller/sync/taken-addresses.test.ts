import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { mayTake } from "../../api/fair-budget.ts";
import { objectKey } from "../../api/names.ts";
import { cidr } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { vipsOf } from "../allocate/vips.ts";
import { TakenAddresses } from "./taken-addresses.ts";

const NAMESPACES = ["shop", "bank", "news"];
/** An import appears, or goes, or the ranges of Services change. */
const STEP = fc.oneof(
  fc.record({
    kind: fc.constantFrom("import" as const, "gone" as const),
    namespace: fc.constantFrom("shop", "shop", ...NAMESPACES),
    name: fc.integer({ min: 0, max: 40 }),
  }),
  fc.record({
    kind: fc.constant("reserve" as const),
    cidrs: fc.subarray(["241.0.0.0/30", "241.0.0.2/31", "240.0.0.0/8"]),
  }),
);

test("in any order of imports, VIPs stay, a namespace without any gets one while one is free, and none has more than its share", () =>
  forAll(
    [
      fc.array(STEP, { minLength: 60, maxLength: 150, size: "max" }),
      fc.integer({ min: 26, max: 30 }),
    ],
    (steps, bits) => {
      const range = cidr(`241.0.0.0/${bits}`);
      const taken = new TakenAddresses([range]);
      // Not one that is allocated.
      taken.take("ServiceImport shop/first", ["241.0.0.0"]);
      const vips = new Map<string, string>();
      let walls: string[] = [];
      const heldBy = (namespace: string) =>
        [...vips.keys()].filter((key) => key.startsWith(`${namespace}/`)).length;
      /** Counted from nothing. */
      const free = (): number => {
        const all = Array.from({ length: 2 ** (32 - bits) - 2 }, (_, i) => `241.0.0.${i + 1}`);
        const used = new Set(vips.values());
        const isWall = (ip: string): boolean =>
          Number(ip.split(".")[3]) < 4 &&
          (walls.includes("241.0.0.0/30") ||
            (walls.includes("241.0.0.2/31") && Number(ip.split(".")[3]) >= 2));
        return all.filter((ip) => !used.has(ip) && !isWall(ip)).length;
      };
      for (const step of steps) {
        if (step.kind === "reserve") {
          walls = step.cidrs;
          taken.reserve(walls.map(cidr));
          continue;
        }
        const key = objectKey(step.namespace, `web-${step.name}`);
        if (step.kind === "gone") {
          vips.delete(key);
          taken.reserveFor(key, []);
          taken.take(`ServiceImport ${key}`, []);
          continue;
        }
        const before = vips.get(key);
        const left = free();
        const isDue = left > 0 && mayTake(heldBy(step.namespace), left);
        const { vips: given, lacking } = vipsOf(key, before ? [before] : [], ["IPv4"], taken.pool);
        const [vip] = given.map(({ text }) => text);
        if (before !== undefined) assert.equal(vip, before);
        else assert.equal(vip !== undefined, isDue);
        if (vip === undefined) {
          assert.equal(lacking.get("IPv4"), left === 0 ? "range-exhausted" : "range-share");
          continue;
        }
        vips.set(key, vip);
        // As a reconcile does: reserved until it is seen. A reservation may stay until the next one.
        taken.reserveFor(key, [vip]);
        taken.take(`ServiceImport ${key}`, [vip]);
        if (step.name % 3 > 0) taken.reserveFor(key, []);
      }
      assert.equal(new Set(vips.values()).size, vips.size);
    },
  ));

test("a VIP that was given to an import and is not used wakes those that wait for one, and not while it is chosen again", () => {
  const taken = new TakenAddresses([cidr("241.0.0.0/24")]);
  let freed = 0;
  taken.freed = () => {
    freed++;
  };
  const key = objectKey("shop", "web");
  taken.reserveFor(key, ["241.0.0.1"]);
  taken.lift(key);
  taken.reserveFor(key, ["241.0.0.1"]);
  assert.equal(freed, 0);
  taken.lift(key);
  taken.reserveFor(key, []);
  assert.equal(freed, 1, "its creation was rejected, and it is exported no more");
});
