import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { UNLIMITED } from "../../../agent/backends/backend.ts";
import { Model } from "../../../agent/model/model.ts";
import { planImport } from "../../../agent/plan/plan.ts";
import type { VirtualService } from "../../../agent/plan/virtual-service.ts";
import { CheckInterval } from "../../../agent/sync/check-interval.ts";
import { Reconciler } from "../../../agent/sync/reconciler.ts";
import type { ObjectKey } from "../../../api/names.ts";
import { cidr, importFact, nodeFact, sliceFact } from "../../generators/facts.ts";
import { anyHistory, applyEvent, type Event } from "../../generators/histories.ts";
import { FakeClock } from "../fake-clock.ts";
import { SILENT } from "../silent-events.ts";
import { FakeIptablesBackend } from "./backend.ts";
import type { FakeIptables } from "./iptables.ts";

const node = nodeFact();
const OPTIONS = {
  family: "IPv4",
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  masquerade: { mode: "off-cluster", podCidrs: node.podCidrs },
} as const;

/** What goes wrong while a change is written. */
type Mishap =
  | { readonly kind: "none" }
  | { readonly kind: "refused"; readonly times: number }
  | { readonly kind: "killed"; readonly share: number }
  | { readonly kind: "flushed" }
  | { readonly kind: "doubled" };

const anyMishap: fc.Arbitrary<Mishap> = fc.oneof(
  fc.constant<Mishap>({ kind: "none" }),
  fc.integer({ min: 1, max: 3 }).map((times): Mishap => ({ kind: "refused", times })),
  fc
    .double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    .map((share): Mishap => ({ kind: "killed", share })),
  fc.constant<Mishap>({ kind: "flushed" }),
  fc.constant<Mishap>({ kind: "doubled" }),
);

/** Prepares a mishap. A refusal follows what others do: the agent notices that at its next complete pass only. */
function prepare(kernel: FakeIptables, mishap: Mishap): void {
  if (mishap.kind === "refused") kernel.faults.failNext = mishap.times;
  if (mishap.kind === "killed") kernel.faults.killAfterShare = mishap.share;
  if (mishap.kind === "flushed") {
    kernel.faults.beforeNextSection = () => {
      assert.equal(kernel.restore("*nat\n-F\nCOMMIT\n*filter\n-F OUTPUT\nCOMMIT\n").exitCode, 0);
      kernel.faults.failNext = 1;
    };
  }
  if (mishap.kind === "doubled") {
    kernel.faults.beforeNextSection = () => {
      const text = "*nat\n-A OUTPUT -m comment --comment mine -j CSP-MASQ\nCOMMIT\n";
      kernel.restore(`*nat\n:CSP-MASQ - [0:0]\nCOMMIT\n${text}${text}`);
      kernel.faults.failNext = 1;
    };
  }
}

/** Changes the endpoint of an import that no history touches, so that every step writes something. */
function writtenFor(step: number): Event[] {
  const importKey = "always/written";
  const slice = { key: "always/written-x", importKey, endpoints: [`10.9.0.${1 + step}`] } as const;
  return [
    { kind: "import", fact: importFact({ key: importKey, vips: ["241.9.9.9"] }) },
    { kind: "slice", fact: sliceFact(slice) },
  ];
}

/** A kernel, what keeps it, and facts that change. */
class Node {
  readonly backend = new FakeIptablesBackend(OPTIONS);
  readonly clock = new FakeClock();
  readonly model = new Model();
  readonly failures: unknown[] = [];
  readonly #reconciler = new Reconciler({
    family: OPTIONS.family,
    backend: this.backend,
    desired: {
      keys: () => this.model.keys(),
      hasSlices: (key) => this.model.hasSlices(key),
      cost: (key) => this.model.cost(key),
      services: (key) => {
        const services = this.#services(key);
        return { services, again: () => services };
      },
      servicesIfAllowed: (key) => this.#services(key),
    },
    limits: async () => UNLIMITED,
    interval: new CheckInterval(),
    clock: this.clock,
    random: () => 0,
    events: {
      reconciled: () => undefined,
      failed: ({ error }) => this.failures.push(error),
      ...SILENT,
    },
  });

  start(): Promise<void> {
    this.#reconciler.start();
    return this.settle();
  }

  change(events: readonly Event[]): Promise<void> {
    for (const event of events) applyEvent(this.model, event);
    for (const key of this.model.takeDirty().keys()) {
      this.#reconciler.changed(key, this.clock.now());
    }
    return this.settle();
  }

  /** Lets time pass until nothing waits any more. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 200; turns++) {
      await turn();
      const { stepSince, oldestWaiting, synced } = this.#reconciler;
      if (stepSince !== undefined) continue;
      if (synced && oldestWaiting === undefined) return;
      this.clock.advance(this.clock.next ?? 0);
    }
    assert.fail("the reconciler did not come to rest");
  }

  stop(): Promise<void> {
    return this.#reconciler.stop();
  }

  #services(key: ObjectKey): readonly VirtualService[] {
    const view = this.model.view(key);
    const services = view === undefined ? [] : planImport(view, node).services;
    return services.filter(({ family }) => family === OPTIONS.family);
  }
}

/** A listing without what depends on history alone: the order of jumps. */
function listing(kernel: FakeIptables): string {
  return kernel.save().split("\n").sort().join("\n");
}

async function fresh(events: readonly Event[]): Promise<string> {
  const other = new Node();
  for (const event of events) applyEvent(other.model, event);
  await other.start();
  await other.stop();
  return listing(other.backend.kernel);
}

const stories = fc.array(
  fc.tuple(
    anyHistory.map((history) => history.flat()),
    anyMishap,
  ),
  {
    minLength: 1,
    maxLength: 5,
  },
);

test("after transactions that are rejected, killed, flushed or duplicated, the kernel has the state of a fresh start", async () => {
  const property = fc.asyncProperty(stories, async (story) => {
    const one = new Node();
    await one.start();
    const steps = story.map(([events, mishap], i) => ({
      all: [...events, ...writtenFor(i)],
      mishap,
    }));
    for (const { all, mishap } of steps) {
      const failures = one.failures.length;
      prepare(one.backend.kernel, mishap);
      await one.change(all);
      assert.equal(one.failures.length > failures, mishap.kind !== "none", "the mishap struck");
    }
    await one.stop();
    assert.equal(listing(one.backend.kernel), await fresh(steps.flatMap(({ all }) => all)));
  });
  await fc.assert(property, { numRuns: 60 });
});

test("no change is lost while the kernel rejects everything for a long time", async () => {
  const one = new Node();
  one.backend.kernel.faults.failNext = 50;
  const [history] = fc.sample(
    anyHistory.filter((steps) => steps.flat().length > 20),
    { numRuns: 1, seed: 1 },
  );
  await one.start();
  assert.equal(one.failures.length, 50);
  await one.change((history ?? []).flat());
  await one.stop();
  assert.equal(listing(one.backend.kernel), await fresh((history ?? []).flat()));
});
