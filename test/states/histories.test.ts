import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Model } from "../../agent/model/model.ts";
import { FAMILIES, type Family } from "../../api/address.ts";
import { applyEvent } from "../support/history.ts";
import { fromScratch, type Pure, pureIptables, pureIpvs, replay } from "../support/replayed.ts";
import { anyHistory, type Event } from "../support/worlds.ts";

describe("iptables", () => histories(pureIptables));
describe("IPVS", () => histories(pureIpvs));

function histories<Believed, Changes>(pureOf: (family: Family) => Pure<Believed, Changes>): void {
  for (const family of FAMILIES) {
    const pure = pureOf(family);
    test(`${family}: every history, step by step, gives what a fresh start gives`, () => {
      fc.assert(
        fc.property(anyHistory, (history) => replay(pure, history, family)),
        { numRuns: 60 },
      );
    });

    test(`${family}: a history backwards, squashed, doubled or with gaps gives what a fresh start gives`, () => {
      fc.assert(
        fc.property(anyHistory, (history) => {
          replay(pure, [...history].reverse(), family);
          replay(pure, [history.flat()], family);
          const doubled = history.flatMap((events) => [events, events]);
          replay(pure, doubled, family);
          const single = history.flatMap((events) => events.map((event) => [event]));
          replay(pure, single, family);
        }),
        { numRuns: 25 },
      );
    });
  }

  test("an import with a VIP, an endpoint and a port has the same rules wherever it stands in a history", () => {
    const pure = pureOf("IPv4");
    const shown = (model: Model) => pure.shown(fromScratch(pure, model, "IPv4"));
    fc.assert(
      fc.property(anyHistory, anyHistory, (before, after) => {
        const model = new Model();
        for (const event of [...before, ...after].flat()) applyEvent(model, event);
        const other = new Model();
        const last = new Map<string, Event>();
        for (const event of [...before, ...after].flat()) {
          const key = event.kind.startsWith("import")
            ? `import ${"fact" in event ? event.fact.key : event.key}`
            : `slice ${"fact" in event ? event.fact.key : event.key}`;
          last.set(key, event);
        }
        for (const event of [...last.values()].reverse()) applyEvent(other, event);
        assert.deepEqual(shown(model), shown(other));
      }),
    );
  });
}
