import { addressFromHex, type Family } from "../../../api/address.ts";
import { type ServiceKey, serviceKey } from "../../plan/virtual-service.ts";
import type { Command } from "../../system/ipvs/object.ts";
import type { Transaction } from "../backend.ts";
import type { GuardOptions } from "./guard.ts";
import { type GuardSets, noSets, renderElements, renderTables } from "./nft-tables.ts";
import type { Setting } from "./settings.ts";
import {
  destinationOf,
  isSameTerms,
  type Port,
  serverName,
  type Vip,
  type VirtualServer,
} from "./vip.ts";

/** One step. An nft step is atomic; the others change one object after the other. */
export type Step =
  | { readonly kind: "settings"; readonly settings: readonly Setting[] }
  | { readonly kind: "nft"; readonly text: string }
  | { readonly kind: "ipvs"; readonly commands: readonly Command[] }
  | { readonly kind: "add-vips" | "delete-vips"; readonly vips: readonly string[] };

/** What a VIP is to become. */
export interface VipChange {
  readonly vip: string;
  readonly before: Vip;
  readonly after: Vip;
}

/** The parts of a transaction. */
export interface CommandParts {
  readonly family: Family;
  readonly vips: readonly VipChange[];
  /** If the guard's tables are written as a whole: what their rules depend on, and their elements before. */
  readonly guard?: { readonly options: GuardOptions; readonly sets: GuardSets } | undefined;
  /** Sysctls that have the wrong value. */
  readonly settings: readonly Setting[];
}

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
export class IpvsCommands implements Transaction {
  readonly steps: readonly Step[];

  constructor(parts: CommandParts) {
    this.steps = stepsOf(parts);
  }

  get empty(): boolean {
    return this.steps.length === 0;
  }

  get writes(): number {
    return this.#lines.length - this.deletes;
  }

  get deletes(): number {
    return this.#lines.filter((line) => /^(address )?delete/.test(line)).length;
  }

  /** As text, in the syntax of nft for its steps. */
  toString(): string {
    return this.steps.map(stepText).join("\n");
  }

  get #lines(): string[] {
    return this.steps.flatMap((step) => stepText(step).split(/\s*\n\s*/));
  }
}

function stepsOf({ family, vips, guard, settings }: CommandParts): Step[] {
  const gains: Command[] = [];
  const losses: Command[] = [];
  const [closed, reopened, opened] = [noSets(), noSets(), noSets()];
  for (const { vip, before, after } of vips) {
    for (const key of new Set([...after.ports.keys(), ...before.ports.keys()])) {
      const [was, is] = [before.ports.get(key), after.ports.get(key)];
      const name = serverName(family, vip, key);
      diffServer(name, serverIn(was), serverIn(is), gains, losses);
      if (was?.served === is?.served) continue;
      if (was?.served) (is?.served ? reopened : closed).served.set(serviceKey(name), was.served);
      if (is?.served) opened.served.set(serviceKey(name), is.served);
    }
  }
  const [known, unknown] = [new Set<string>(), new Set<string>()];
  for (const { vip, before, after } of vips)
    if (before.isExplicit !== after.isExplicit) (after.isExplicit ? known : unknown).add(vip);
  const change = (before: Partial<GuardSets>, after: Partial<GuardSets>) =>
    textOf(renderElements(family, { ...noSets(), ...before }, { ...noSets(), ...after }));
  const moved = (isThere: boolean) =>
    vips.flatMap(({ vip, before, after }) =>
      before.isOnDevice !== after.isOnDevice && after.isOnDevice === isThere ? [vip] : [],
    );
  const steps: Step[] = [
    {
      kind: "nft",
      text:
        guard === undefined
          ? change(closed, { explicit: known })
          : renderTables(guard.options, between(guard.sets, closed.served, known)),
    },
    { kind: "ipvs", commands: gains },
    { kind: "add-vips", vips: moved(true) },
    { kind: "nft", text: change(reopened, opened) },
    { kind: "ipvs", commands: losses },
    { kind: "delete-vips", vips: moved(false) },
    { kind: "nft", text: change({ explicit: unknown }, {}) },
    { kind: "settings", settings },
  ];
  return steps.filter((step) => !isNothing(step));
}

/** The server of a port, if it is ours or becomes ours. */
function serverIn(port: Port | undefined): VirtualServer | undefined {
  return port?.owner === "foreign" ? undefined : port?.server;
}

/** `gains`: commands that add destinations, before the guard admits new connections; `losses`: those that drain or delete destinations, afterwards. */
function diffServer(
  name: ReturnType<typeof serverName>,
  before: VirtualServer | undefined,
  after: VirtualServer | undefined,
  gains: Command[],
  losses: Command[],
): void {
  if (after !== undefined && (before === undefined || !isSameTerms(before.terms, after.terms)))
    gains.push({
      kind: before === undefined ? "new-server" : "set-server",
      server: { ...name, ...after.terms },
    });
  for (const [key, { weight }] of after?.destinations ?? []) {
    const was = before?.destinations.get(key);
    const destination = destinationOf(key, weight);
    const kind = was === undefined ? "new-destination" : "set-destination";
    if (was?.weight === weight && (weight === 0 || was.isPlain)) continue;
    (weight === 0 ? losses : gains).push({ kind, server: name, destination });
  }
  for (const key of before?.destinations.keys() ?? [])
    if (!after?.destinations.has(key))
      losses.push({
        kind: "delete-destination",
        server: name,
        destination: destinationOf(key, 0),
      });
  if (before !== undefined && after === undefined)
    losses.push({ kind: "delete-server", server: name });
}

/** The elements after the first step: closed ports are deleted, new addresses are added. */
function between(
  before: GuardSets,
  closed: ReadonlyMap<ServiceKey, string>,
  explicit: ReadonlySet<string>,
): GuardSets {
  return {
    served: new Map([...before.served].filter(([key]) => !closed.has(key))),
    explicit: before.explicit.union(explicit),
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
