import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { finished } from "../../agent/backends/backend.ts";
import type { IpvsCommands } from "../../agent/backends/ipvs/commands.ts";
import { type Content, IpvsLayout } from "../../agent/backends/ipvs/layout.ts";
import { parseVip } from "../../agent/backends/ipvs/vip.ts";
import { type DesiredServices, KernelChange } from "../../agent/backends/kernel-table.ts";
import type { Changes, Held } from "../../agent/backends/objects.ts";
import { Model } from "../../agent/model/model.ts";
import { FAMILIES, type Family } from "../../api/address.ts";
import { containsAny } from "../../api/cidr.ts";
import { ipvsBackend, ModelIpvs, Refusal } from "../doubles/model-ipvs.ts";
import { anyEvent, applyEvent, type Event } from "../generators/histories.ts";
import { fromScratch, optionsOf, pureIpvs, setImport } from "./replay.ts";

/** An external change of the kernel; `pick` is a number that selects an object. */
const HARM: Readonly<Record<string, (kernel: ModelIpvs, pick: number) => void>> = {
  "flush servers": ({ servers }) => servers.clear(),
  "delete a server": ({ servers }, pick) => servers.delete(at(servers.keys(), pick) ?? "0 TCP 0"),
  "empty a server": ({ servers }, pick) => at(servers.values(), pick)?.destinations.clear(),
  "change a server": ({ servers }, pick) => {
    const server = at(servers.values(), pick);
    if (server !== undefined) server.terms = { ...server.terms, scheduler: "wlc" };
  },
  "drain a destination": ({ servers }, pick) => {
    const one = at(at(servers.values(), pick)?.destinations.values(), pick);
    if (one !== undefined) one.weight = 0;
  },
  "set a destination up otherwise": ({ servers }, pick) => {
    const one = at(at(servers.values(), pick)?.destinations.values(), pick);
    if (one !== undefined) one.plain = false;
  },
  "delete a table": (kernel, pick) => {
    const gone = at(kernel.tables.keys(), pick);
    kernel.tables = new Map([...kernel.tables].filter(([name]) => name !== gone));
  },
  "close a port": ({ guard }, pick) => {
    guard?.sets.served.delete(at(guard.sets.served.keys(), pick) ?? "0 TCP 0");
  },
  "delete the device": ({ vips }) => vips.clear(),
};

/** An event between one state and the next, of the agent or the kernel, or none. */
type Fault =
  | { readonly kind: "nothing" | "restart" | "tidy" }
  | { readonly kind: "harm"; readonly how: string; readonly pick: number }
  /** A transaction ends after this part of its acts. */
  | { readonly kind: "half"; readonly part: number };

const anyFault: fc.Arbitrary<Fault> = fc.oneof(
  fc.constantFrom<Fault>({ kind: "nothing" }, { kind: "restart" }, { kind: "tidy" }),
  fc.double({ min: 0, max: 1, noNaN: true }).map((part): Fault => ({ kind: "half", part })),
  fc
    .record({ how: fc.constantFrom(...Object.keys(HARM)), pick: fc.nat(50) })
    .map((harm): Fault => ({ kind: "harm", ...harm })),
);

/** A transaction. */
type Written = KernelChange<Content, IpvsCommands>;

interface Turn {
  readonly events: readonly Event[];
  readonly fault: Fault;
  /** What connections do: each number opens one, or ends all, somewhere. */
  readonly traffic: readonly number[];
}

const anyTurns: fc.Arbitrary<Turn[]> = fc.array(
  fc.record({
    events: fc.array(anyEvent, { minLength: 1, maxLength: 6 }),
    fault: anyFault,
    traffic: fc.array(fc.nat(200), { maxLength: 12 }),
  }),
  { maxLength: 12 },
);

/** An agent of one family over a model of the kernel. */
class Site {
  readonly kernel: ModelIpvs;
  readonly model = new Model();
  /** True while an external change is not repaired. */
  harmed = false;
  readonly #family: Family;
  readonly #pure;
  readonly #layout: IpvsLayout;
  #ruleset: DesiredServices<Content>;
  #state: Held;

  constructor(family: Family) {
    this.kernel = new ModelIpvs(optionsOf(family));
    this.#family = family;
    this.#pure = pureIpvs(family);
    this.#layout = new IpvsLayout({ ...optionsOf(family), scheduler: "rr" });
    this.#ruleset = this.#pure.ruleset();
    this.#state = this.#pure.empty();
    this.pass(finished(this.#ruleset.take()));
  }

  /** Lets something happen, and gives what is to be changed for it. */
  take(events: readonly Event[]): Changes<Content> {
    for (const event of events) applyEvent(this.model, event);
    for (const key of this.model.takeDirty().keys())
      setImport(this.#ruleset, this.model, key, this.#family);
    return finished(this.#ruleset.take());
  }

  /** Throws a `Refusal`. */
  pass(changes: Changes<Content>): Written {
    const tx = finished(this.#pure.diff(this.#state, changes));
    const before = this.#connections();
    this.kernel.run(tx, () => this.assertPromises());
    tx.settle(this.#state);
    const after = this.#connections();
    for (const one of before)
      assert.ok(after.has(one) || one.includes(" UDP "), `${one} has lost its connections`);
    return tx;
  }

  /** A pass of which the kernel makes the first part only. */
  passHalf(changes: Changes<Content>, part: number): void {
    const tx = finished(this.#pure.diff(this.#state, changes));
    const acts = Math.floor(part * ModelIpvs.acts(tx));
    this.kernel.run(tx, () => this.assertPromises(), acts);
  }

  /** As after a failure, drift and a start: reads the kernel, and writes the whole desired state. */
  passAll(): Written {
    this.#state = this.kernel.read();
    this.#ruleset = this.#pure.ruleset();
    for (const key of this.model.keys()) setImport(this.#ruleset, this.model, key, this.#family);
    return this.pass(finished(this.#ruleset.take()));
  }

  /** Removes what is kept only for connections, and has none left. */
  tidy(): void {
    const change = this.#layout.garbage(this.#state, this.kernel.read());
    const tx = new KernelChange(change, this.#layout.commands(change, this.#state));
    assert.equal(tx.writes, 0, `tidying only deletes:\n${tx.toString()}`);
    this.kernel.run(tx, () => this.assertPromises());
    tx.settle(this.#state);
  }

  /** The external changes that a drift check finds. */
  drift(): readonly unknown[] {
    return ipvsBackend(optionsOf(this.#family)).compare(this.#state, this.kernel.read());
  }

  assertAsFromScratch(): void {
    const pure = this.#pure;
    const scratch = pure.shown(fromScratch(pure, this.model, this.#family));
    assert.deepEqual(pure.shown(this.#state), scratch);
    assert.deepEqual(pure.shown(this.kernel.read(), this.#state), scratch, "so is the kernel");
    const again = finished(pure.diff(this.#state, finished(this.#ruleset.take())));
    assert.equal(again.toString(), "", "a second pass does nothing");
    for (const [vip, { digest }] of this.#state)
      if (parseVip(digest).isLeaving)
        assert.ok([...this.kernel.servers.keys()].some((key) => vipOf(key) === vip));
  }

  /** The invariants between two steps: no address without a guard, and no admitted connection without a destination. */
  assertPromises(): void {
    const { guard, vips } = this.kernel;
    const { clusterSetCidrs } = optionsOf(this.#family);
    for (const vip of this.harmed ? [] : vips) {
      const inside = containsAny(clusterSetCidrs, { family: this.#family, text: "", hex: vip });
      assert.ok(guard !== undefined, "an address, and no guard");
      assert.ok(inside || guard.sets.explicit.has(vip), `the guard does not know ${vip}`);
    }
    for (const key of this.harmed ? [] : (guard?.sets.served.keys() ?? [])) {
      assert.ok(this.kernel.takers(key).length > 0, `${key} is let in, and nobody takes it`);
      assert.ok(vips.has(vipOf(key)), `${key} is let in, and its address is not there`);
    }
  }

  /** Where connections lead, and get to. */
  #connections(): Set<string> {
    const found = new Set<string>();
    const { servers, vips } = this.kernel;
    for (const [key, { destinations }] of servers)
      for (const [one, { connections }] of destinations)
        if (connections > 0 && vips.has(vipOf(key))) found.add(`${key} ${one}`);
    return found;
  }
}

/** Plays one turn, and ends with a kernel that is as it should be. */
function play(site: Site, { events, fault, traffic }: Turn): void {
  letTraffic(site.kernel, traffic);
  if (fault.kind === "restart") {
    assert.equal(site.passAll().writes, 0, "a restart writes nothing");
    site.assertAsFromScratch();
  }
  if (fault.kind === "harm") {
    HARM[fault.how]?.(site.kernel, fault.pick);
    site.harmed = true;
    const told = site.drift().length > 0;
    try {
      site.pass(site.take(events));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      assert.ok(told, `refused, and nothing told: ${error.message}`);
    }
    site.passAll();
    site.harmed = false;
  } else if (fault.kind === "half") {
    site.passHalf(site.take(events), fault.part);
    site.passAll();
  } else {
    site.pass(site.take(events));
  }
  if (fault.kind === "tidy") site.tidy();
  site.assertPromises();
  site.assertAsFromScratch();
}

function vipOf(key: string): string {
  return key.slice(0, key.indexOf(" "));
}

/** Opens and ends connections: only destinations with a weight get new ones. */
function letTraffic({ servers }: ModelIpvs, numbers: readonly number[]): void {
  for (const number of numbers) {
    const one = at(at(servers.values(), number)?.destinations.values(), number >> 2);
    if (one === undefined) continue;
    if (number % 2 === 0) one.connections = 0;
    else if (one.weight > 0) one.connections++;
  }
}

function at<T>(all: Iterable<T> | undefined, n: number): T | undefined {
  const list = [...(all ?? [])];
  return list[n % Math.max(1, list.length)];
}

for (const family of FAMILIES) {
  test(`${family}: after any events between two states, the kernel has the state of a fresh start, and its invariants hold in between`, () => {
    fc.assert(
      fc.property(anyTurns, (turns) => {
        const site = new Site(family);
        for (const turn of turns) play(site, turn);
      }),
      { numRuns: 200 },
    );
  });
}
