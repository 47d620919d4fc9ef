import { type Cidr, contains } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import { type EndpointRemoval, PendingRemovals } from "./endpoint-removal.ts";
import { destinationsOf, listOf, loses, type ProgrammedPort, vipOf } from "./programmed-port.ts";
import { EVERYTHING, mergeScopes, type ScanScope } from "./scan-scope.ts";

/** What a destination is in the live state. */
export type Lookup =
  | { readonly kind: "port"; readonly port: ProgrammedPort }
  /** No import has it: an address and port of a ClusterSet CIDR, or of an explicit VIP that was released. */
  | { readonly kind: "gone"; readonly inRange: boolean }
  /** Not ours. */
  | { readonly kind: "foreign" };

/** Ports of some imports, also by destination. */
interface Ports {
  readonly imports: Map<ObjectKey, readonly ProgrammedPort[]>;
  readonly at: Map<string, ProgrammedPort>;
}

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
  #live = noPorts();
  /** Ports of the transaction under way, and of one that failed: any of them may be live. */
  #proposed: Ports | undefined;
  #failed: Ports | undefined;
  /** Destinations whose rules stay although nobody proposes them: which endpoints these rules have is not known. */
  readonly #kept = new Map<string, ProgrammedPort>();
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
    this.#proposed ??= noPorts();
    put(this.#proposed, key, ports);
  }

  /**
   * An earlier process may have programmed these ports, and nobody proposes or removes them now: they are not released before their import is proposed
   * without them.
   */
  keep(ports: readonly ProgrammedPort[]): void {
    for (const [destination, port] of placesOf(ports)) {
      this.#released.delete(destination);
      this.#kept.set(destination, port);
    }
  }

  /** The proposed ports are live, at a cost in proportion to them. `complete`: imports that were not proposed are gone. */
  accept(complete: boolean): Consequences {
    const proposed = this.#proposed ?? noPorts();
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

  #replace(proposed: Ports): Consequences {
    for (const destination of [...this.#live.at.keys(), ...this.#kept.keys()])
      if (!proposed.at.has(destination)) this.#release(destination);
    this.#kept.clear();
    this.#live = proposed;
    this.#complete = true;
    for (const destination of proposed.at.keys()) this.#released.delete(destination);
    return { stale: EVERYTHING, removal: { scope: UNANSWERED } };
  }

  #change(proposed: Ports): Consequences {
    const before = new Map<string, ProgrammedPort>();
    for (const [key, ports] of proposed.imports) {
      for (const [one, port] of placesOf(this.#live.imports.get(key))) before.set(one, port);
      put(this.#live, key, ports);
      if (ports.length === 0) this.#live.imports.delete(key);
    }
    const protocols = new Set<Protocol>();
    const vips = new Set<string>();
    const scan = (destination: string, { protocol }: ProgrammedPort) => {
      protocols.add(protocol);
      vips.add(vipOf(destination));
    };
    const removed = new Map<string, string>();
    const silent = new Set<string>();
    for (const [destination, port] of proposed.at) {
      this.#released.delete(destination);
      const old = before.get(destination);
      if (makesStale(old, port)) scan(destination, port);
      if (old?.protocol !== "TCP") continue;
      const left = answering(old.endpoints, port.unanswering);
      if (left !== old.endpoints) silent.add(vipOf(destination));
      if (loses(old.endpoints, port.endpoints)) removed.set(destination, left);
    }
    for (const [destination, port] of this.#kept) {
      if (!proposed.imports.has(port.importKey)) continue;
      this.#kept.delete(destination);
      if (!before.has(destination)) before.set(destination, port);
    }
    for (const [destination, port] of before) {
      if (this.#live.at.has(destination) || port.protocol === "SCTP") continue;
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
    const port = this.#live.at.get(destination);
    if (port !== undefined) return { kind: "port", port };
    const inRange = this.#complete && this.#inRange(destination);
    return inRange || this.#released.has(destination) ? { kind: "gone", inRange } : FOREIGN;
  }

  /** Ports that may be live at a destination besides what `at` returns. */
  uncommittedAt(destination: string): readonly ProgrammedPort[] {
    return [this.#proposed, this.#failed].flatMap((ports) => ports?.at.get(destination) ?? []);
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

function noPorts(): Ports {
  return { imports: new Map(), at: new Map() };
}

/** Replaces the ports of one import. */
function put({ imports, at }: Ports, key: ObjectKey, ports: readonly ProgrammedPort[]): void {
  // A VIP may have moved to another import, which was set before this one.
  for (const [destination] of placesOf(imports.get(key)))
    if (at.get(destination)?.importKey === key) at.delete(destination);
  imports.set(key, ports);
  for (const [destination, port] of placesOf(ports)) at.set(destination, port);
}

/** The destinations of ports. */
function placesOf(ports: readonly ProgrammedPort[] = []): (readonly [string, ProgrammedPort])[] {
  return ports.flatMap((port) => destinationsOf(port).map((one) => [one, port] as const));
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
