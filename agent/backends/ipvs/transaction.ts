import { addressFromHex } from "../../../api/address.ts";
import type { Command } from "../../system/ipvs/object.ts";
import type { Transaction } from "../backend.ts";
import { change, type ElementChanges, elementsOf } from "../nft/elements.ts";
import type { ServiceKey } from "../nft/service-key.ts";
import { type GuardOptions, isBound } from "./guard.ts";
import { renderElements, renderTables } from "./nft-tables.ts";
import type { Setting } from "./settings.ts";
import {
  type Blocked,
  type GuardSets,
  type KernelServer,
  type KernelState,
  noSets,
} from "./state.ts";

/** Changes of the guard's sets. */
export interface SetChanges {
  /** The import of a virtual server; undefined for one that gets no new connections any more. */
  readonly served: ReadonlyMap<ServiceKey, string | undefined>;
  readonly explicit: ElementChanges;
}

/** The parts of a transaction: the changes, and the state after them. */
export interface TransactionParts {
  readonly state: KernelState;
  readonly options: GuardOptions;
  readonly gains: readonly Command[];
  readonly losses: readonly Command[];
  /** Changed servers, as they are afterwards. */
  readonly servers: ReadonlyMap<ServiceKey, KernelServer | undefined>;
  /** Addresses of the device. */
  readonly vips: ElementChanges;
  readonly leaving: ReadonlySet<string>;
  /** Desired servers with another program's in their place; undefined for servers that are not blocked. */
  readonly blocked: ReadonlyMap<ServiceKey, Blocked | undefined>;
  readonly sets: SetChanges;
  readonly rules: readonly string[];
}

/** One step. An nft step is atomic; the others change one object after the other. */
export type Step =
  | { readonly kind: "settings"; readonly settings: readonly Setting[] }
  | { readonly kind: "nft"; readonly text: string }
  | { readonly kind: "ipvs"; readonly commands: readonly Command[] }
  | { readonly kind: "add-vips" | "delete-vips"; readonly vips: readonly string[] };

/**
 * A change of nftables, IPVS and the device, which the kernel cannot change atomically. The order of the steps ensures that
 * admitted connections have a destination, and that no address is on the node without the guard.
 *
 * 1. The guard rejects connections to ports without a destination, and gets new addresses.
 * 2. Servers get their destinations, and the device its addresses.
 * 3. The guard admits connections to new ports.
 * 4. Destinations are drained or deleted; old addresses are deleted from the device, then from the guard.
 * 5. Sysctls are set last, so that nothing else depends on their success.
 */
export class IpvsTransaction implements Transaction {
  readonly #parts: TransactionParts;
  readonly steps: readonly Step[];

  constructor(parts: TransactionParts) {
    this.#parts = parts;
    this.steps = stepsOf(parts);
  }

  get empty(): boolean {
    const { blocked, state } = this.#parts;
    const same = [...blocked].every(([key, one]) => state.blocked.has(key) === (one !== undefined));
    return this.steps.length === 0 && same;
  }

  get writes(): number {
    return this.#lines.length - this.deletes;
  }

  get deletes(): number {
    return this.#lines.filter((line) => /^(address )?delete/.test(line)).length;
  }

  /** Updates the cached state after the kernel has accepted the transaction. */
  settle(state: KernelState): void {
    const { servers, vips, leaving, blocked, sets, rules } = this.#parts;
    update(state.servers, servers);
    change(state.vips, vips);
    state.leaving.clear();
    for (const vip of leaving) state.leaving.add(vip);
    update(state.sets.served, sets.served);
    change(state.sets.explicit, sets.explicit);
    state.rules = rules;
    if (isBound(rules)) state.shared = false;
    state.wrong = [];
    update(state.blocked, blocked);
  }

  /** As text, in the syntax of nft for its steps. */
  toString(): string {
    return this.steps.map(stepText).join("\n");
  }

  get #lines(): string[] {
    return this.steps.flatMap((step) => stepText(step).split(/\s*\n\s*/));
  }
}

function stepsOf({ state, options, gains, losses, vips, sets, rules }: TransactionParts): Step[] {
  const changed = [...sets.served];
  const closed = changed.flatMap(([key, to]) => (to === undefined ? [key] : []));
  const opened = changed.flatMap(([key, to]) => (to === undefined ? [] : [[key, to] as const]));
  const known = (are: boolean) => ({ explicit: elementsOf(sets.explicit, are) });
  const existing = (keys: readonly ServiceKey[]) => ({ ...NONE, served: of(state, keys) });
  const same =
    rules.length === state.rules.length && rules.every((rule, i) => rule === state.rules[i]);
  const first = same
    ? renderElements(options.family, existing(closed), { ...NONE, ...known(true) })
    : [renderTables(options, between(state.sets, sets))];
  const open = renderElements(options.family, existing(opened.map(([key]) => key)), {
    ...NONE,
    served: new Map(opened),
  });
  const steps: Step[] = [
    { kind: "nft", text: textOf(first) },
    { kind: "ipvs", commands: gains },
    { kind: "add-vips", vips: [...elementsOf(vips, true)] },
    { kind: "nft", text: textOf(open) },
    { kind: "ipvs", commands: losses },
    { kind: "delete-vips", vips: [...elementsOf(vips, false)] },
    {
      kind: "nft",
      text: textOf(renderElements(options.family, { ...NONE, ...known(false) }, NONE)),
    },
    { kind: "settings", settings: state.wrong },
  ];
  return steps.filter((step) => !isNothing(step));
}

/** No element at all. */
const NONE = noSets();

/** Sets what has a value and deletes the rest. */
function update<Key, Value>(
  state: Map<Key, Value>,
  changes: ReadonlyMap<Key, Value | undefined>,
): void {
  for (const [key, value] of changes) {
    if (value === undefined) state.delete(key);
    else state.set(key, value);
  }
}

/** The imports that these servers are served for in the cached state. */
function of({ sets }: KernelState, keys: readonly ServiceKey[]): Map<ServiceKey, string> {
  const entries = keys.map((key) => [key, sets.served.get(key)] as const);
  return new Map(entries.flatMap(([key, to]) => (to === undefined ? [] : [[key, to] as const])));
}

/** The elements after the first step: closed servers are deleted, new addresses are added. */
function between(before: GuardSets, { served, explicit }: SetChanges): GuardSets {
  const isClosed = (key: ServiceKey) => served.has(key) && served.get(key) === undefined;
  return {
    served: new Map([...before.served].filter(([key]) => !isClosed(key))),
    explicit: new Set([...before.explicit, ...elementsOf(explicit, true)]),
  };
}

function isNothing(step: Step): boolean {
  if (step.kind === "nft") return step.text === "";
  if (step.kind === "settings") return step.settings.length === 0;
  return (step.kind === "ipvs" ? step.commands : step.vips).length === 0;
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

function stepText(step: Step): string {
  if (step.kind === "nft") return step.text.trimEnd();
  if (step.kind === "settings")
    return step.settings.map(({ name, value }) => `sysctl ${name}=${value}`).join("\n");
  if (step.kind === "ipvs") return step.commands.map(commandText).join("\n");
  const verb = step.kind === "add-vips" ? "add" : "delete";
  return step.vips.map((vip) => `address ${verb} ${addressFromHex(vip).text}`).join("\n");
}

function commandText(command: Command): string {
  const { kind, server } = command;
  const place = (address: string, port: number) => `${addressFromHex(address).text} ${port}`;
  const words = [kind, server.protocol, place(server.address, server.port)];
  if ("destination" in command) {
    const { address, port, weight } = command.destination;
    words.push(place(address, port));
    if (kind !== "delete-destination") words.push(`weight ${weight}`);
  } else if ("scheduler" in server) {
    words.push(server.scheduler, `flags ${server.flags}`, `timeout ${server.timeout}`);
  }
  return words.join(" ");
}
