import { addressFromHex } from "../../../api/address.ts";
import type { Command } from "../../system/ipvs/object.ts";
import type { Transaction } from "../backend.ts";
import type { GuardOptions } from "./guard.ts";
import { change, changeSets, type ElementChanges, type SetChanges, those } from "./set-changes.ts";
import type { Setting } from "./settings.ts";
import type { Believed, Blocked, GuardSets, ServerKey, StandingServer } from "./state.ts";
import { renderElements, renderTables } from "./tables.ts";

/** What a transaction is made of: what changes, and how things stand after it. */
export interface TransactionParts {
  readonly believed: Believed;
  readonly options: GuardOptions;
  readonly gains: readonly Command[];
  readonly losses: readonly Command[];
  /** Servers that change, as they are then. */
  readonly servers: ReadonlyMap<ServerKey, StandingServer | undefined>;
  /** Of the device. */
  readonly vips: ElementChanges;
  readonly leaving: ReadonlySet<string>;
  /** Wanted servers in whose place somebody else's stands; undefined for one that can be there, or is not wanted. */
  readonly blocked: ReadonlyMap<ServerKey, Blocked | undefined>;
  readonly sets: SetChanges;
  readonly rules: readonly string[];
}

/** One step. The kernel makes an nft step as a whole, and all others object by object. */
export type Step =
  | { readonly kind: "settings"; readonly settings: readonly Setting[] }
  | { readonly kind: "nft"; readonly text: string }
  | { readonly kind: "ipvs"; readonly commands: readonly Command[] }
  | { readonly kind: "add-vips" | "delete-vips"; readonly vips: readonly string[] };

/**
 * A change of three things that no kernel changes at once. Their order keeps two promises at each moment between: what
 * is let in finds a destination, and no address is on the node without the guard.
 *
 * 1. The guard closes what has no destination any more, and knows each new address.
 * 2. Servers get their destinations, and the device its addresses.
 * 3. The guard opens.
 * 4. Destinations are drained or deleted, and what nobody wants goes: addresses, then what the guard knew of them.
 * 5. Switches of the kernel that somebody has set otherwise are set: if that is refused, all else is done.
 */
export class IpvsTransaction implements Transaction {
  readonly #parts: TransactionParts;
  readonly steps: readonly Step[];

  constructor(parts: TransactionParts) {
    this.#parts = parts;
    this.steps = stepsOf(parts);
  }

  get empty(): boolean {
    const { blocked, believed } = this.#parts;
    const same = [...blocked].every(
      ([key, one]) => believed.blocked.has(key) === (one !== undefined),
    );
    return this.steps.length === 0 && same;
  }

  get writes(): number {
    return this.#count((kind) => !kind.startsWith("delete"));
  }

  get deletes(): number {
    return this.#count((kind) => kind.startsWith("delete"));
  }

  /** Makes `believed` what the kernel holds once it has accepted this. */
  settle(believed: Believed): void {
    const { servers, vips, leaving, blocked, sets, rules } = this.#parts;
    for (const [key, server] of servers) {
      if (server === undefined) believed.servers.delete(key);
      else believed.servers.set(key, server);
    }
    change(believed.vips, vips);
    believed.leaving.clear();
    for (const vip of leaving) believed.leaving.add(vip);
    changeSets(believed.sets, sets);
    believed.rules = rules;
    believed.wrong = [];
    for (const [key, one] of blocked) {
      if (one === undefined) believed.blocked.delete(key);
      else believed.blocked.set(key, one);
    }
  }

  /** As somebody would type it, who had one tool for all of it. */
  toString(): string {
    return this.steps.map(stepText).join("\n");
  }

  #count(counts: (kind: string) => boolean): number {
    return this.steps
      .flatMap((step) => {
        if (step.kind === "ipvs") return step.commands.map(({ kind }) => kind);
        if (step.kind === "nft")
          return step.text
            .trim()
            .split("\n")
            .map((line) => line.trim());
        if (step.kind === "settings") return step.settings.map(() => step.kind);
        return step.vips.map(() => step.kind);
      })
      .filter(counts).length;
  }
}

function stepsOf({
  believed,
  options,
  gains,
  losses,
  vips,
  sets,
  rules,
}: TransactionParts): Step[] {
  // What is closed is so at first, what is opened at last; addresses are known as long as they are there.
  const changed = [...sets.served];
  const closed = changed.flatMap(([key, to]) => (to === undefined ? [key] : []));
  const opened = changed.flatMap(([key, to]) => (to === undefined ? [] : [[key, to] as const]));
  const known = (are: boolean) => ({
    explicit: those(sets.explicit, are),
    hairpins: those(sets.hairpins, are),
  });
  const standing = (keys: readonly ServerKey[]) => ({ ...NONE, served: of(believed, keys) });
  const same =
    rules.length === believed.rules.length && rules.every((rule, i) => rule === believed.rules[i]);
  const first = same
    ? renderElements(options, standing(closed), { ...NONE, ...known(true) })
    : [renderTables(options, between(believed.sets, sets))];
  const open = renderElements(options, standing(opened.map(([key]) => key)), {
    ...NONE,
    served: new Map(opened),
  });
  const steps: Step[] = [
    { kind: "nft", text: textOf(first) },
    { kind: "ipvs", commands: gains },
    { kind: "add-vips", vips: [...those(vips, true)] },
    { kind: "nft", text: textOf(open) },
    { kind: "ipvs", commands: losses },
    { kind: "delete-vips", vips: [...those(vips, false)] },
    { kind: "nft", text: textOf(renderElements(options, { ...NONE, ...known(false) }, NONE)) },
    { kind: "settings", settings: believed.wrong },
  ];
  return steps.filter((step) => !isNothing(step));
}

/** No element at all. */
const NONE: GuardSets = { served: new Map(), explicit: new Set(), hairpins: new Set() };

/** What these are believed to be served for. */
function of({ sets }: Believed, keys: readonly ServerKey[]): Map<ServerKey, string> {
  const entries = keys.map((key) => [key, sets.served.get(key)] as const);
  return new Map(entries.flatMap(([key, to]) => (to === undefined ? [] : [[key, to] as const])));
}

/** All that the sets hold after the first step: what is closed is gone, and nothing else. */
function between(before: GuardSets, { served, explicit, hairpins }: SetChanges): GuardSets {
  const isClosed = (key: ServerKey) => served.has(key) && served.get(key) === undefined;
  return {
    served: new Map([...before.served].filter(([key]) => !isClosed(key))),
    explicit: new Set([...before.explicit, ...those(explicit, true)]),
    hairpins: new Set([...before.hairpins, ...those(hairpins, true)]),
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
  if (step.kind === "settings") return step.settings.map(settingText).join("\n");
  if (step.kind === "ipvs") return step.commands.map(commandText).join("\n");
  const verb = step.kind === "add-vips" ? "add" : "delete";
  return step.vips.map((vip) => `address ${verb} ${addressFromHex(vip).text}`).join("\n");
}

function settingText({ name, value }: Setting): string {
  return `sysctl ${name}=${value}`;
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
