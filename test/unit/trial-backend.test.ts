import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { UNLIMITED } from "../../agent/backends/backend.ts";
import type { BackendKind } from "../../agent/backends/backend-kind.ts";
import { KINDS } from "../../agent/backends/kinds.ts";
import { openBackends } from "../../agent/command/backends.ts";
import { backendRemark, chooseBackend } from "../../agent/command/choose-backend.ts";
import { removeLeftovers } from "../../agent/command/remove-leftovers.ts";
import { Agent } from "../../agent/sync/agent.ts";
import { FakeBackend, quiet } from "../doubles/fake-backend.ts";
import { FakeClock } from "../doubles/fake-clock.ts";
import { FakeSource } from "../doubles/fake-source.ts";
import { logLines } from "../doubles/log-lines.ts";
import { SILENT } from "../doubles/silent-events.ts";
import { backendConfig, importFact, nodeFact, sliceFact } from "../generators/facts.ts";

const FAMILIES = ["IPv4", "IPv6"] as const;
const OPEN = { keep: [], othersInPlace: () => false };

/** A backend that only logs: all that its folder would hold. */
function trial(log: string[]): BackendKind {
  const ready = {
    variant: { target: "log" },
    requirements: { tools: () => [], lockFiles: [], needsRoute: false },
    open: () => {
      const backend = new FakeBackend();
      const apply = backend.apply.bind(backend);
      backend.apply = (tx, state) => {
        log.push(`apply ${tx.toString()}`);
        return apply(tx, state);
      };
      return { backend, reader: { held: async () => [] } };
    },
    limits: async () => UNLIMITED,
    watch: () => () => undefined,
  };
  return {
    prepare: async () => ready,
    assume: () => ready,
    leftovers: ({ inUse }) =>
      FAMILIES.map((family) => ({
        variant: { target: "log" },
        family,
        remove: async () => log.push(`remove ${family}, in use: ${inUse}`),
      })),
  };
}

/** The trial backend, alone in a record, and what it logged. */
function stage() {
  const logged: string[] = [];
  const { log } = logLines();
  const { signal: stop } = new AbortController();
  const clock = new FakeClock();
  const config = backendConfig("241.0.0.0/8");
  const kinds = { trial: trial(logged) };
  const chosen = () => chooseBackend(["trial"], kinds, { config, log, clock, stop });
  return { logged, log, clock, config, kinds, chosen };
}

describe("a backend that only logs, added by one kind and one line in a record", () => {
  test("is chosen and reported, and programs what the agent plans", async () => {
    const { logged, config, chosen, clock } = stage();
    const choice = (await chosen()) ?? assert.fail("not chosen");
    assert.deepEqual(backendRemark(choice), { name: "backend-trial", state: "ok" });
    const { backends, counters } = openBackends(
      choice.backend,
      config.clusterSetCidrs,
      OPEN,
      assert.fail,
    );
    assert.equal(counters.size, 0);
    const source = new FakeSource();
    const agent = new Agent({
      today: () => 0,
      ...{ sources: [source], backends, counters, clock },
      events: {
        ...SILENT,
        planned: () => undefined,
        problems: () => undefined,
        failed: ({ error }) => assert.fail(String(error)),
        listed: () => undefined,
        reconciled: () => undefined,
      },
      node: () => nodeFact({ clusterSetCidrs: config.clusterSetCidrs }),
      random: () => 0.5,
    });
    agent.start();
    source.tell.importChanged(importFact(), 0);
    source.tell.sliceChanged(sliceFact(), 0);
    source.tell.listed();
    await quiet();
    assert.deepEqual(logged, ["apply +demo/serve"]);
    assert.equal(await agent.counts("demo/serve"), undefined);
    await agent.stop();
  });

  test("removes its objects, except those in use", async () => {
    const { logged, log, kinds } = stage();
    const search = { kinds, ranges: [], keep: [] };
    const removed = await removeLeftovers(search, log);
    assert.deepEqual(removed, { objects: 1 + 2, failed: false });
    assert.deepEqual(logged.splice(0), ["remove IPv4, in use: none", "remove IPv6, in use: none"]);
    const inUse = { name: "trial", variant: { target: "log" }, families: ["IPv4"] } as const;
    await removeLeftovers({ ...search, inUse }, log);
    assert.deepEqual(logged.splice(0), ["remove IPv6, in use: this"]);
    await removeLeftovers({ ...search, inUse: { ...inUse, name: "other" } }, log);
    assert.deepEqual(logged, ["remove IPv4, in use: other", "remove IPv6, in use: other"]);
  });
});

test("every backend can be opened for a family without touching the node", async () => {
  const config = backendConfig("241.0.0.0/8");
  for (const [name, kind] of Object.entries(KINDS)) {
    const ready = kind.assume(config);
    const { backends } = openBackends(ready, config.clusterSetCidrs, OPEN, assert.fail);
    assert.deepEqual([...backends.keys()], ["IPv4"], name);
    for (const backend of backends.values()) await backend.close();
  }
});
