import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ObjectKey } from "../../../api/names.ts";
import { cidr } from "../../../test/generators/facts.ts";
import { virtualService } from "../../../test/generators/services.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { finished } from "../backend.ts";
import { diff } from "./diff.ts";
import { IptablesRuleset } from "./ruleset.ts";
import type { KernelState } from "./state.ts";

const SERVICES = 400;

function newRuleset(): IptablesRuleset {
  const masquerade = { mode: "none", podCidrs: [] } as const;
  return new IptablesRuleset({
    family: "IPv4",
    clusterSetCidrs: [cidr("241.0.0.0/8")],
    masquerade,
  });
}

function nothing(): KernelState {
  return { chains: new Map(), jumps: [] };
}

/** Two ports with twenty endpoints each: 400 of them have more rules than are kept. */
function large(i: number): readonly [ObjectKey, VirtualService[]] {
  const importKey: ObjectKey = `demo/s${i}`;
  const endpoints = Array.from({ length: 20 }, (_, k) => ({
    address: `10.${i >> 8}.${i & 255}.${k}`,
    port: 8080,
  }));
  const vips = [`241.0.${i >> 8}.${i & 255}`];
  return [
    importKey,
    [80, 81].map((port) =>
      virtualService({ importKey, vips, endpoints, port, portName: `p${port}` }),
    ),
  ];
}

describe("a ruleset that is larger than what is kept in memory", () => {
  /** `made` counts how often services are requested again. */
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

  test("is written as if all of it had been kept: once for all ports of an import, in order, in pieces of moderate size", () => {
    const { kept, unmade, made } = rulesets();
    const expected = finished(diff(nothing(), finished(kept.take())));
    const tx = finished(diff(nothing(), finished(unmade.take())));
    assert.equal(made(), 0, "only when it is written");
    const pieces = [...tx.pieces()];
    assert.ok(made() > 0 && made() <= SERVICES, `${made()}`);
    assert.ok(pieces.every(({ length }) => length < 70_000));
    const text = pieces.join("");
    assert.ok(text.length > 1_000_000);
    const sorted = (text: string) => text.split("\n").sort();
    assert.deepEqual(sorted(text), sorted(expected.toString()));
    const [, ...names] = text.match(/^:CSP-\S+/gm) ?? [];
    assert.deepEqual(names, [...names].sort());
    const [mine, theirs] = [nothing(), nothing()];
    tx.settle(mine);
    expected.settle(theirs);
    assert.deepEqual(mine.chains, theirs.chains);
  });

  test("is not rendered again if the kernel has it", () => {
    const { kept, unmade, made } = rulesets();
    const state = nothing();
    finished(diff(state, finished(kept.take()))).settle(state);
    assert.ok(finished(diff(state, finished(unmade.take()))).empty);
    assert.equal(made(), 0);
  });
});

describe("a service whose rules are kept", () => {
  const [key, both] = large(1);
  const [one, other] = both;
  assert.ok(one && other);
  const gone: VirtualService = { ...other, endpoints: [], reason: "no-endpoint" };

  function live(): KernelState {
    const state = nothing();
    const ruleset = newRuleset();
    ruleset.set(key, both);
    finished(diff(state, finished(ruleset.take()))).settle(state);
    return state;
  }

  test("keeps its chain and its entry, in a complete pass too", () => {
    const ruleset = newRuleset();
    ruleset.set(key, [one], { kept: [gone] });
    assert.equal(finished(diff(live(), finished(ruleset.take()))).toString(), "");
  });

  test("keeps them while its neighbours change, and is written afterwards", () => {
    const state = live();
    const ruleset = newRuleset();
    ruleset.set(key, both);
    finished(diff(state, finished(ruleset.take())));
    ruleset.set(key, [{ ...one, endpoints: one.endpoints.slice(1) }], { kept: [gone] });
    ruleset.set(...large(2));
    const text = finished(diff(state, finished(ruleset.take()))).toString();
    assert.doesNotMatch(text, /^-X|s1:p81.* (RETURN|DNAT)/m);
    assert.match(text, /s1:p80.*10\.0\.1\.1:8080/);
    ruleset.set(key, [one, gone]);
    assert.match(
      finished(diff(state, finished(ruleset.take()))).toString(),
      /s1:p81 no-endpoint" -j RETURN/,
    );
  });

  test("is deleted with its import", () => {
    const ruleset = newRuleset();
    ruleset.set(key, [one], { kept: [other] });
    finished(ruleset.take());
    ruleset.set(key, []);
    assert.match(
      finished(diff(live(), finished(ruleset.take()))).toString(),
      /(^-X CSP-SVC-.*\n){2}/m,
    );
  });
});
