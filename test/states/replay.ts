import assert from "node:assert/strict";
import { finished, type Transaction } from "../../agent/backends/backend.ts";
import type { IptablesCommands } from "../../agent/backends/iptables/commands.ts";
import { IptablesLayout } from "../../agent/backends/iptables/layout.ts";
import type { Rules } from "../../agent/backends/iptables/rules.ts";
import type { IpvsCommands } from "../../agent/backends/ipvs/commands.ts";
import type { Content as IpvsContent } from "../../agent/backends/ipvs/layout.ts";
import { GUARD } from "../../agent/backends/ipvs/listing.ts";
import { parseVip } from "../../agent/backends/ipvs/vip.ts";
import type { KernelTable } from "../../agent/backends/kernel-table.ts";
import type { Content, NftablesCommands } from "../../agent/backends/nftables/layout.ts";
import type { Changes, Held } from "../../agent/backends/objects.ts";
import { Model } from "../../agent/model/model.ts";
import { planImport } from "../../agent/plan/plan.ts";
import type { Family } from "../../api/address.ts";
import { type Cidr, ofFamily } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import { heldBy } from "../doubles/iptables/backend.ts";
import { FakeIptables } from "../doubles/iptables/iptables.ts";
import { ipvsBackend, ModelIpvs } from "../doubles/model-ipvs.ts";
import { ModelNftables, nftablesBackend } from "../doubles/model-nftables.ts";
import { pureTable } from "../doubles/pure-table.ts";
import { nodeFact } from "../generators/facts.ts";
import { applyEvent, type Event } from "../generators/histories.ts";

const NODE = nodeFact();

/** A model of the kernel. */
export interface FakeKernel<Commands extends Transaction> {
  /** Throws if the kernel would reject the change. */
  run(change: { readonly commands: Commands }): void;
  /** What a new process reads. */
  read(): Held;
}

/** The pure part of a backend, of one family, and a model of the kernel that it programs. */
export interface Pure<Content, Commands extends Transaction>
  extends ReturnType<typeof pureTable<Content, Commands>> {
  /** A kernel that holds nothing. */
  kernel(): FakeKernel<Commands>;
  /**
   * What is desired of what is held, in a neutral order; without draining destinations. `cached`: what is known to be held, which tells
   * draining objects from others if `held` was read.
   */
  shown(held: Held, cached?: Held): unknown;
}

/** The pure part of any backend. */
// biome-ignore lint/suspicious/noExplicitAny: the two types belong together, and only the backend looks inside
export type AnyPure = Pure<any, any>;

/** What the guard and the masquerade of a family depend on. */
export function optionsOf(family: Family, ranges = NODE.clusterSetCidrs) {
  const clusterSetCidrs = ofFamily(ranges, family);
  const explicitVipCidrs = ofFamily(NODE.explicitVipCidrs, family);
  const masquerade = { mode: "remote", podCidrs: NODE.podCidrs } as const;
  return { family, clusterSetCidrs, explicitVipCidrs, masquerade };
}

export function pureIptables(
  family: Family,
  ranges?: readonly Cidr[],
): Pure<Rules, IptablesCommands> {
  return {
    ...pureTable(new IptablesLayout(optionsOf(family, ranges))),
    kernel: () => {
      const fake = new FakeIptables(family);
      const run = (change: { readonly commands: IptablesCommands }) => {
        const { exitCode, stderr } = fake.restore(change.commands.toString());
        assert.equal(exitCode, 0, stderr);
      };
      return { run, read: () => heldBy(fake) };
    },
    shown: (held) => held,
  };
}

export function pureIpvs(
  family: Family,
  ranges?: readonly Cidr[],
): Pure<IpvsContent, IpvsCommands> {
  const options = optionsOf(family, ranges);
  return { ...ipvsBackend(options), kernel: () => new ModelIpvs(options), shown: shownIpvs };
}

export function pureNftables(
  family: Family,
  ranges?: readonly Cidr[],
): Pure<Content, NftablesCommands> {
  const options = { ...optionsOf(family, ranges), affinity: "remembered" } as const;
  return {
    ...nftablesBackend(options),
    kernel: () => new ModelNftables(options),
    // Chains that a service needed stay.
    shown: (held) => new Map([...held].filter(([id]) => !id.startsWith("chain "))),
  };
}

/** Servers with the destinations that get new connections, addresses that an import has, and the guard. */
function shownIpvs(held: Held, cached = held): unknown {
  const shown = new Map<string, unknown>();
  for (const [hex, { digest }] of held) {
    const { ports, isOnDevice, isExplicit } = parseVip(digest);
    for (const [key, { served, server }] of ports) {
      const all = [...(server?.destinations ?? [])].filter(([, { weight }]) => weight > 0);
      if (all.length > 0) shown.set(`${hex} ${key}`, { served, terms: server?.terms, all });
    }
    const isLeaving = parseVip(cached.get(hex)?.digest).isLeaving;
    if (isOnDevice && !isLeaving) shown.set(hex, isExplicit);
  }
  return shown.set(GUARD, held.get(GUARD)?.digest);
}

/** Sets one import of a model in a ruleset. */
export function setImport(
  ruleset: Pick<KernelTable, "set">,
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

/** The desired state of a newly started agent. */
export function complete<Content, Commands extends Transaction>(
  pure: Pure<Content, Commands>,
  model: Model,
  family: Family,
): Changes<Content> {
  const all = pure.ruleset();
  for (const key of model.keys()) setImport(all, model, key, family);
  return finished(all.take());
}

/** The state of a kernel of one family that a new agent programs with a whole model. */
export function fromScratch<Content, Commands extends Transaction>(
  pure: Pure<Content, Commands>,
  model: Model,
  family: Family,
): Held {
  const state = pure.empty();
  finished(pure.diff(state, complete(pure, model, family))).settle(state);
  return state;
}

/**
 * Replays a history change by change. After every step, compares the cached state with a fresh start and with the model of the
 * kernel, which must accept every transaction.
 */
export function replay<Content, Commands extends Transaction>(
  pure: Pure<Content, Commands>,
  history: readonly (readonly Event[])[],
  family: Family,
): void {
  const model = new Model();
  const ruleset = pure.ruleset();
  const state = pure.empty();
  const kernel = pure.kernel();
  const write = (changes: Changes<Content>) => {
    const tx = finished(pure.diff(state, changes));
    kernel.run(tx);
    tx.settle(state);
  };
  write(finished(ruleset.take()));
  for (const events of history) {
    for (const event of events) applyEvent(model, event);
    for (const key of model.takeDirty().keys()) setImport(ruleset, model, key, family);
    const changes = finished(ruleset.take());
    write(changes);
    assert.deepEqual(pure.shown(state), pure.shown(fromScratch(pure, model, family)));
    assert.deepEqual(pure.shown(kernel.read(), state), pure.shown(state));
    const again = (desired: Changes<Content>) => finished(pure.diff(state, desired)).toString();
    assert.equal(again(changes), "", "the same changes again are none");
    assert.equal(again(finished(ruleset.take())), "", "no change is no change");
    assert.equal(again(complete(pure, model, family)), "", "a restart writes nothing");
  }
}
