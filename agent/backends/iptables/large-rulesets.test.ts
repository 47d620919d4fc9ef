import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ObjectKey } from "../../../api/names.ts";
import { virtualService } from "../../../test/support/services.ts";
import { cidr } from "../../../test/support/worlds.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { diff } from "./diff.ts";
import { IptablesRuleset } from "./ruleset.ts";
import type { Believed } from "./tables.ts";

const SERVICES = 400;

function newRuleset(): IptablesRuleset {
  const masquerade = { mode: "none", podCidrs: [] } as const;
  return new IptablesRuleset({ family: "IPv4", clusterSetCidr: cidr("241.0.0.0/8"), masquerade });
}

function nothing(): Believed {
  return { chains: new Map(), jumps: [] };
}

/** Two ports with twenty endpoints each: 400 of them have more rules than are kept. */
function large(i: number): readonly [ObjectKey, VirtualService[]] {
  const importKey: ObjectKey = `demo/s${i}`;
  const endpoints = Array.from({ length: 20 }, (_, k) => ({
    address: `10.${i >> 8}.${i & 255}.${k}`,
    port: 8080,
    maybeHere: false,
  }));
  const vips = [`241.0.${i >> 8}.${i & 255}`];
  return [
    importKey,
    [80, 81].map((port) =>
      virtualService({ importKey, vips, endpoints, port, portName: `p${port}` }),
    ),
  ];
}

describe("a ruleset that is larger than what is kept of it", () => {
  /** `made` counts how often services are asked for again. */
  function rulesets() {
    const [kept, unmade] = [newRuleset(), newRuleset()];
    let made = 0;
    for (let i = 0; i < SERVICES; i++) {
      const [key, services] = large(i);
      kept.set(key, services);
      const again = () => {
        made++;
        return services;
      };
      unmade.set(key, services, { again });
    }
    return { kept, unmade, made: () => made };
  }

  test("is written as if all of it had been kept, whatever the order of its chains", () => {
    const { kept, unmade, made } = rulesets();
    const expected = diff(nothing(), kept.take());
    const tx = diff(nothing(), unmade.take());
    assert.equal(made(), 0, "only when it is written");
    const sorted = (text: string) => text.split("\n").sort();
    assert.deepEqual(sorted(tx.toString()), sorted(expected.toString()));
    assert.ok(made() > 0);
    const [mine, theirs] = [nothing(), nothing()];
    tx.settle(mine);
    expected.settle(theirs);
    assert.deepEqual(mine.chains, theirs.chains);
  });

  test("declares its chains in the order of their names", () => {
    const { unmade } = rulesets();
    const names = diff(nothing(), unmade.take())
      .toString()
      .match(/^:CSP-\S+/gm);
    assert.deepEqual(names?.slice(1), [...(names ?? [])].slice(1).sort());
  });

  test("is made again once for all ports of an import", () => {
    const { unmade, made } = rulesets();
    assert.ok(diff(nothing(), unmade.take()).toString().length > 1_000_000);
    assert.ok(made() <= SERVICES, `${made()}`);
  });

  test("comes in pieces of moderate size, which are all of it", () => {
    const tx = diff(nothing(), rulesets().unmade.take());
    const pieces = [...tx.pieces()];
    assert.ok(pieces.every(({ length }) => length < 70_000));
    assert.equal(pieces.join(""), tx.toString());
  });

  test("needs nothing made of it if the kernel has it", () => {
    const { kept, unmade, made } = rulesets();
    const believed = nothing();
    diff(believed, kept.take()).settle(believed);
    assert.ok(diff(believed, unmade.take()).empty);
    assert.equal(made(), 0);
  });
});

describe("a service that is held", () => {
  const [key, both] = large(1);
  const [one, other] = both;
  assert.ok(one && other);
  const gone: VirtualService = { ...other, endpoints: [], reason: "no-endpoint" };

  function live(): Believed {
    const believed = nothing();
    const ruleset = newRuleset();
    ruleset.set(key, both);
    diff(believed, ruleset.take()).settle(believed);
    return believed;
  }

  test("keeps its chain and the entry that leads there, in a complete pass too", () => {
    const ruleset = newRuleset();
    ruleset.set(key, [one], { kept: [gone] });
    assert.equal(diff(live(), ruleset.take()).toString(), "");
  });

  test("keeps them while its neighbours change, and is written when it is let go", () => {
    const believed = live();
    const ruleset = newRuleset();
    ruleset.set(key, both);
    diff(believed, ruleset.take());
    ruleset.set(key, [{ ...one, endpoints: one.endpoints.slice(1) }], { kept: [gone] });
    ruleset.set(...large(2));
    const text = diff(believed, ruleset.take()).toString();
    assert.doesNotMatch(text, /^-X|s1:p81.* (RETURN|DNAT)/m);
    assert.match(text, /s1:p80.*10\.0\.1\.1:8080/);
    ruleset.set(key, [one, gone]);
    assert.match(diff(believed, ruleset.take()).toString(), /s1:p81 no-endpoint" -j RETURN/);
  });

  test("goes with its import", () => {
    const ruleset = newRuleset();
    ruleset.set(key, [one], { kept: [other] });
    ruleset.take();
    ruleset.set(key, []);
    assert.match(diff(live(), ruleset.take()).toString(), /(^-X CSP-SVC-.*\n){2}/m);
  });
});
