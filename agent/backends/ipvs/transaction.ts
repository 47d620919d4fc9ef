import { addressFromHex } from "../../../api/address.ts";
import type { Command } from "../../system/ipvs/object.ts";
import type { Transaction } from "../backend.ts";
import type { GuardOptions } from "./guard.ts";
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
  readonly vips: ReadonlySet<string>;
  readonly leaving: ReadonlySet<string>;
  /** Wanted servers in whose place somebody else's stands; undefined for one that can be there, or is not wanted. */
  readonly blocked: ReadonlyMap<ServerKey, Blocked | undefined>;
  readonly sets: GuardSets;
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
 * is let in finds a destination, and no address is on the node without the guard. What it all relies on comes first: switches
 * of the kernel that somebody has set otherwise.
 *
 * 1. The guard closes what has no destination any more, and knows each new address.
 * 2. Servers get their destinations, and the device its addresses.
 * 3. The guard opens.
 * 4. Destinations are drained or deleted, and what nobody wants goes: addresses, then what the guard knew of them.
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
    replace(believed.vips, vips);
    replace(believed.leaving, leaving);
    replace(believed.sets.explicit, sets.explicit);
    replace(believed.sets.hairpins, sets.hairpins);
    believed.sets.served.clear();
    for (const [key, value] of sets.served) believed.sets.served.set(key, value);
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
  const before = believed.sets;
  const added = [...vips].filter((vip) => !believed.vips.has(vip));
  const deleted = [...believed.vips].filter((vip) => !vips.has(vip));
  // Between the two nft steps: closed is what will be, known is what was and what will be.
  const between: GuardSets = {
    served: new Map([...before.served].filter(([key]) => sets.served.has(key))),
    explicit: new Set([...before.explicit, ...sets.explicit]),
    hairpins: new Set([...before.hairpins, ...sets.hairpins]),
  };
  const opened: GuardSets = { ...between, served: sets.served };
  const same =
    rules.length === believed.rules.length && rules.every((rule, i) => rule === believed.rules[i]);
  const first = same ? renderElements(options, before, between) : [renderTables(options, between)];
  const steps: Step[] = [
    { kind: "settings", settings: believed.wrong },
    { kind: "nft", text: textOf(first) },
    { kind: "ipvs", commands: gains },
    { kind: "add-vips", vips: added },
    { kind: "nft", text: textOf(renderElements(options, between, opened)) },
    { kind: "ipvs", commands: losses },
    { kind: "delete-vips", vips: deleted },
    { kind: "nft", text: textOf(renderElements(options, opened, sets)) },
  ];
  return steps.filter((step) => !isNothing(step));
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

function replace(set: Set<string>, by: ReadonlySet<string>): void {
  set.clear();
  for (const one of by) set.add(one);
}
