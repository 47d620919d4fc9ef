import assert from "node:assert/strict";
import type { Ruleset, Transaction } from "../../agent/backends/backend.ts";
import * as iptables from "../../agent/backends/iptables/diff.ts";
import { IptablesRuleset } from "../../agent/backends/iptables/ruleset.ts";
import type * as Tables from "../../agent/backends/iptables/tables.ts";
import * as ipvs from "../../agent/backends/ipvs/diff.ts";
import { IpvsRuleset } from "../../agent/backends/ipvs/ruleset.ts";
import * as state from "../../agent/backends/ipvs/state.ts";
import type { IpvsTransaction } from "../../agent/backends/ipvs/transaction.ts";
import { Model } from "../../agent/model/model.ts";
import { planImport } from "../../agent/plan/plan.ts";
import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import { applyEvent } from "./history.ts";
import { type Event, nodeFact } from "./worlds.ts";

const NODE = nodeFact();

/** A transaction that a replay may take for accepted. */
interface Settling<Believed> extends Transaction {
  settle(believed: Believed): void;
}

/** The pure part of a backend, of one family. */
export interface Pure<Believed, Changes, Tx extends Settling<Believed> = Settling<Believed>> {
  ruleset(): Ruleset<Changes>;
  nothing(): Believed;
  diff(believed: Believed, changes: Changes): Tx;
  /** What is wanted of all that is believed, in an order that says nothing: what drains is not. */
  shown(believed: Believed): unknown;
}

/** What the guard and the masquerade of a family depend on. */
export function optionsOf(family: Family) {
  const clusterSetCidr = NODE.clusterSetCidrs.find((cidr) => cidr.family === family);
  assert.ok(clusterSetCidr);
  const masquerade = { mode: "remote", podCidrs: NODE.podCidrs } as const;
  return { family, clusterSetCidr, masquerade };
}

export function pureIptables(family: Family): Pure<Tables.Believed, Tables.Changes> {
  return {
    ruleset: () => new IptablesRuleset(optionsOf(family)),
    nothing: () => ({ chains: new Map(), jumps: [] }),
    diff: iptables.diff,
    shown: ({ chains, jumps }) => ({ chains, jumps: [...jumps].sort() }),
  };
}

export function pureIpvs(family: Family): Pure<state.Believed, state.Changes, IpvsTransaction> {
  const options = optionsOf(family);
  return {
    ruleset: () => new IpvsRuleset("rr"),
    nothing: state.nothing,
    diff: (believed, changes) => ipvs.diff(believed, changes, options),
    shown: shownIpvs,
  };
}

function shownIpvs({ servers, vips, leaving, sets, rules }: state.Believed): unknown {
  const taking = [...servers].flatMap(([key, { terms, destinations }]) => {
    const full = [...destinations].filter(([, { weight }]) => weight > 0);
    return full.length === 0 ? [] : [[key, { terms, destinations: new Map(full) }] as const];
  });
  const wanted = (some: ReadonlySet<string>) =>
    new Set([...some].filter((vip) => !leaving.has(vip)));
  return {
    servers: new Map(taking),
    vips: wanted(vips),
    served: sets.served,
    explicit: wanted(sets.explicit),
    hairpins: sets.hairpins,
    rules,
  };
}

/** Says in a ruleset what a model has of one import. */
export function setImport<Changes>(
  ruleset: Ruleset<Changes>,
  model: Model,
  key: ObjectKey,
  family: Family,
): void {
  const view = model.view(key);
  const services = view === undefined ? [] : planImport(view, NODE).services;
  ruleset.set(
    key,
    services.filter((service) => service.family === family),
  );
}

/** What a newly started agent wants. */
export function complete<Believed, Changes>(
  pure: Pure<Believed, Changes>,
  model: Model,
  family: Family,
): Changes {
  const all = pure.ruleset();
  for (const key of model.keys()) setImport(all, model, key, family);
  return all.take();
}

/** What the kernel of one family would hold after all of a model were rendered at once, and nothing before. */
export function fromScratch<Believed, Changes>(
  pure: Pure<Believed, Changes>,
  model: Model,
  family: Family,
): Believed {
  const believed = pure.nothing();
  pure.diff(believed, complete(pure, model, family)).settle(believed);
  return believed;
}

/** Replays a history change by change, and after every step compares with a fresh start. */
export function replay<Believed, Changes>(
  pure: Pure<Believed, Changes>,
  history: readonly (readonly Event[])[],
  family: Family,
): void {
  const model = new Model();
  const ruleset = pure.ruleset();
  const believed = pure.nothing();
  pure.diff(believed, ruleset.take()).settle(believed);
  for (const events of history) {
    for (const event of events) applyEvent(model, event);
    for (const key of model.takeDirty().keys()) setImport(ruleset, model, key, family);
    const changes = ruleset.take();
    pure.diff(believed, changes).settle(believed);
    assert.deepEqual(pure.shown(believed), pure.shown(fromScratch(pure, model, family)));
    const again = (wanted: Changes) => pure.diff(believed, wanted).toString();
    assert.equal(again(changes), "", "the same changes again are none");
    assert.equal(again(ruleset.take()), "", "no change is no change");
    assert.equal(again(complete(pure, model, family)), "", "a restart writes nothing");
  }
}
