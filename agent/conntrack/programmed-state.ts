import { type Cidr, contains } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import { type EndpointRemoval, PendingRemovals } from "./endpoint-removal.ts";
import { destinationsOf, PortIndex, vipOf } from "./port-index.ts";
import { listOf, loses, type ProgrammedPort } from "./programmed-port.ts";
import { EVERYTHING, mergeScopes, type ScanScope } from "./scan-scope.ts";

/** What a destination is in the live state. */
export type Lookup =
  | { readonly kind: "port"; readonly port: ProgrammedPort }
  /** No import has it: an address and port of a ClusterSet CIDR, or of an explicit VIP that was released. */
  | { readonly kind: "gone"; readonly inRange: boolean }
  /** Not ours. */
  | { readonly kind: "foreign" };

const FOREIGN: Lookup = { kind: "foreign" };
/** Every unanswered TCP connection: a complete pass may have removed any endpoint. */
const UNANSWERED: ScanScope = { protocols: new Set<Protocol>(["TCP"]), unanswered: true };

/** What a change calls for. */
export interface Consequences {
  /** To be scanned at once. */
  readonly stale?: ScanScope;
  /** Present if clients wait for that: for an answer of an endpoint that does not answer. */
  readonly isUrgent?: true;
  /** To be scanned once it expires; the caller expires it. */
  readonly removal?: EndpointRemoval;
}

/** What the kernel of one family translates: live ports, uncommitted ones, and VIPs released lately. */
export class ProgrammedState {
  readonly removals = new PendingRemovals();
  readonly #ranges: readonly Cidr[];
  #live = new PortIndex();
  /** Ports of the transaction under way, and of one that failed: any of them may be live. */
  #proposed: PortIndex | undefined;
  #failed: PortIndex | undefined;
  /** Ports whose rules stay although nobody proposes them: which endpoints these rules have is not known. */
  readonly #kept = new PortIndex();
  /** True after the first complete pass: before it, an unknown VIP may be live. */
  #complete = false;
  /** Destinations of explicit VIPs that were released, by this process or before its start, each with the number of its release: no range shows they were ours. */
  readonly #released = new Map<string, number>();
  #releases = 0;

  /** `ranges`: the ClusterSet CIDRs of the family. */
  constructor(ranges: readonly Cidr[]) {
    this.#ranges = ranges;
  }

  /** An earlier process programmed these destinations; those that are not proposed are released. */
  found(destinations: Iterable<string>): void {
    for (const destination of destinations) this.#release(destination);
  }

  /** The transaction under way gives one import these ports. They may take connections from now on. */
  propose(key: ObjectKey, ports: readonly ProgrammedPort[]): void {
    this.#proposed ??= new PortIndex();
    this.#proposed.set(key, ports);
  }

  /**
   * An earlier process may have programmed these ports, and nobody proposes or removes them now: they are not released before their import is proposed
   * without them.
   */
  keep(ports: readonly ProgrammedPort[]): void {
    for (const port of ports)
      for (const destination of destinationsOf(port)) this.#released.delete(destination);
    for (const [key, own] of Map.groupBy(ports, ({ importKey }) => importKey))
      this.#kept.set(key, own);
  }

  /** The proposed ports are live, at a cost in proportion to them. `complete`: imports that were not proposed are gone. */
  accept(complete: boolean): Consequences {
    const proposed = this.#proposed ?? new PortIndex();
    this.#proposed = undefined;
    // After a failure, the next transaction starts from what was read back and holds all that is desired.
    this.#failed = undefined;
    const consequences = complete ? this.#replace(proposed) : this.#change(proposed);
    if (consequences.removal !== undefined) this.removals.add(consequences.removal);
    return consequences;
  }

  /** The proposed ports may be live in part, until another transaction is accepted. */
  fail(): void {
    this.#failed = this.#proposed ?? this.#failed;
    this.#proposed = undefined;
  }

  #replace(proposed: PortIndex): Consequences {
    for (const destination of [...this.#live.destinations, ...this.#kept.destinations]) {
      if (proposed.at(destination) === undefined) this.#release(destination);
    }
    for (const [key] of this.#kept.imports) this.#unkeep(key);
    this.#live = proposed;
    this.#complete = true;
    for (const destination of this.#released.keys()) {
      if (proposed.at(destination) !== undefined) this.#released.delete(destination);
    }
    return { stale: EVERYTHING, removal: { scope: UNANSWERED } };
  }

  #change(proposed: PortIndex): Consequences {
    const before = new Map<string, ProgrammedPort>();
    for (const [key] of proposed.imports) {
      for (const port of this.#live.of(key)) {
        for (const destination of destinationsOf(port)) before.set(destination, port);
      }
    }
    const protocols = new Set<Protocol>();
    const vips = new Set<string>();
    const scan = (destination: string, { protocol }: ProgrammedPort) => {
      protocols.add(protocol);
      vips.add(vipOf(destination));
    };
    const removed = new Map<string, string>();
    const silent = new Set<string>();
    for (const [key, ports] of proposed.imports) {
      this.#live.set(key, ports);
      this.#live.drop(key);
      for (const port of ports) {
        for (const destination of destinationsOf(port)) {
          this.#released.delete(destination);
          const old = before.get(destination);
          if (makesStale(old, port)) scan(destination, port);
          if (old?.protocol !== "TCP") continue;
          const left = answering(old.endpoints, port.unanswering);
          if (left !== old.endpoints) silent.add(vipOf(destination));
          if (loses(old.endpoints, port.endpoints)) removed.set(destination, left);
        }
      }
    }
    for (const [key] of proposed.imports)
      for (const [destination, port] of this.#unkeep(key))
        if (!before.has(destination)) before.set(destination, port);
    for (const [destination, port] of before) {
      if (this.#live.at(destination) !== undefined || port.protocol === "SCTP") continue;
      this.#release(destination);
      // Established TCP connections stay: the import's policy has gone with the import.
      if (port.protocol === "TCP") removed.set(destination, port.endpoints);
      else scan(destination, port);
    }
    const stale = mergeScopes(
      protocols.size > 0 ? { protocols, vips } : undefined,
      silent.size > 0 ? { ...UNANSWERED, vips: silent } : undefined,
    );
    return {
      ...(stale !== undefined && { stale }),
      ...(silent.size > 0 && { isUrgent: true }),
      ...(this.#complete
        ? removed.size > 0 && { removal: removalOf(removed) }
        : // Endpoints from before this process started are not known yet.
          { removal: { scope: UNANSWERED } }),
    };
  }

  /** What a destination is. */
  at(destination: string): Lookup {
    const port = this.#live.at(destination);
    if (port !== undefined) return { kind: "port", port };
    const inRange = this.#complete && this.#inRange(destination);
    return inRange || this.#released.has(destination) ? { kind: "gone", inRange } : FOREIGN;
  }

  /** Ports that may be live at a destination besides what `at` returns. */
  uncommittedAt(destination: string): readonly ProgrammedPort[] {
    return [this.#proposed, this.#failed].flatMap((index) => index?.at(destination) ?? []);
  }

  /** Releases so far whose endpoints can answer no more, for `forget`. */
  released(): ReadonlyMap<string, number> {
    const settled = [...this.#released].filter(
      ([destination]) => this.removals.endpointsOf(destination)?.length === 0,
    );
    return new Map(settled);
  }

  /** Forgets releases whose entries were scanned, unless the destination was released again since. */
  forget(released: ReadonlyMap<string, number>): void {
    for (const [destination, release] of released) {
      if (this.#released.get(destination) === release) this.#released.delete(destination);
    }
  }

  /** The destinations of an import that were kept; from now on they are not. */
  #unkeep(key: ObjectKey): (readonly [string, ProgrammedPort])[] {
    const ports = this.#kept.of(key);
    this.#kept.set(key, []);
    this.#kept.drop(key);
    return ports.flatMap((port) => destinationsOf(port).map((one) => [one, port] as const));
  }

  #release(destination: string): void {
    if (!this.#inRange(destination)) this.#released.set(destination, ++this.#releases);
  }

  #inRange(destination: string): boolean {
    // Most addresses differ in their first digits; the full comparison costs ten times as much.
    return this.#ranges.some((range) => {
      const { family, hex, bits } = range;
      if (!destination.startsWith(hex.slice(0, bits >> 2))) return false;
      return contains(range, { family, text: "", hex: vipOf(destination) });
    });
  }
}

function removalOf(endpoints: ReadonlyMap<string, string>): EndpointRemoval {
  const vips = new Set([...endpoints.keys()].map(vipOf));
  return { scope: { ...UNANSWERED, vips }, endpoints };
}

/** The endpoints of a list that answer. */
function answering(list: string, unanswering: string | undefined): string {
  if (unanswering === undefined) return list;
  const silent = listOf(unanswering);
  return [...listOf(list)].filter((one) => !silent.has(one)).join(" ");
}

/** True if the change can make entries stale, or if there may be entries that were stale before. */
function makesStale(before: ProgrammedPort | undefined, now: ProgrammedPort): boolean {
  if (before === undefined) return true;
  if (now.endpoints !== "" && before.endpoints === "") return true;
  if (now.keeps === undefined) return false;
  return before.keeps === undefined || loses(before.keeps, now.keeps);
}
