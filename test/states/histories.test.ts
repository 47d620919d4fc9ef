import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Model } from "../../agent/model/model.ts";
import { FAMILIES, type Family } from "../../api/address.ts";
import { MODELLED } from "../backends.ts";
import { anyHistory, applyEvent, type Event } from "../generators/histories.ts";
import { type AnyPure, fromScratch, replay } from "./replay.ts";

for (const { name, pure } of MODELLED) describe(name, () => histories(pure));

function histories(pureOf: (family: Family) => AnyPure): void {
  for (const family of FAMILIES) {
    const pure = pureOf(family);
    test(`${family}: after every step of every history, the state is that of a fresh start, and the kernel accepts it`, () => {
      fc.assert(
        fc.property(anyHistory, (history) => replay(pure, history, family)),
        { numRuns: 60 },
      );
    });

    test(`${family}: a history in reverse, in one step, with repeats or in single events ends in the state of a fresh start`, () => {
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

  test("an import with a VIP, an endpoint and a port has the same rules at any place in a history", () => {
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
