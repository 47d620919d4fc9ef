import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FAKE_CASES } from "./cases.ts";
import { FakeIptables } from "./iptables.ts";

describe("the fake iptables accepts and rejects the same input as the real one", () => {
  for (const { name, family, steps } of FAKE_CASES) {
    test(name, () => {
      const fake = new FakeIptables(family);
      for (const { text, accepted } of steps) {
        const before = fake.save();
        const { exitCode, stderr } = fake.restore(text);
        assert.equal(exitCode === 0, accepted, `${text}\n${stderr}`);
        if (accepted || text.split("COMMIT").length > 2) continue;
        assert.equal(fake.save(), before, "what is refused changes nothing");
      }
    });
  }
});

test("chains can be nested fifteen deep under a base chain, including gotos, as with nft", () => {
  const deep = (levels: number, verb: string) => {
    const names = [...Array(levels).keys()].map((i) => `CSP-${i}`);
    const declared = names.map((name) => `:${name} - [0:0]`);
    const down = names.slice(1).map((name, i) => `-A CSP-${i} ${verb} ${name}`);
    const text = ["*nat", ...declared, ...down, "-A OUTPUT -j CSP-0", "COMMIT", ""].join("\n");
    return new FakeIptables("IPv4").restore(text).exitCode;
  };
  for (const verb of ["-j", "-g"]) assert.deepEqual([deep(15, verb), deep(16, verb)], [0, 4]);
});
