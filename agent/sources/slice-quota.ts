import { GroupedBudget } from "../../api/grouped-budget.ts";
import type { Problem } from "../../api/problem.ts";
import { memorySize } from "../../api/quota.ts";
import type { SliceFact } from "../model/facts.ts";
import type { ObjectTable, ParsedObject } from "./object-table.ts";

/** Bytes that count as an endpoint: ports, properties and names take memory, too. Plain endpoints take fewer. */
const BYTES_OF_ENDPOINT = 160;

/** While a list is read, this many times the limit is kept before shares are computed anew. */
const SLACK = 1.25;

/** What a `SliceQuota` reports. */
export interface SliceQuotaEvents {
  /** All problems of a namespace's slices. */
  problems(object: string, problems: readonly Problem[]): void;
  /** There is room for more endpoints of these slices: they must be read again. */
  room(keys: readonly string[]): void;
}

/** What the slices of a namespace list. */
interface Namespace {
  /** As `Listed.weight`, of all slices. */
  listed: number;
  kept: number;
  /** Reported: endpoints are left out. */
  isCut: boolean;
  /** Absent while the limit is enough: one claim for each slice of each namespace would be much memory. */
  shares: Shares | undefined;
}

/** Shares of a namespace that is over the limit, or was. */
interface Shares {
  readonly budget: GroupedBudget<string>;
  readonly listed: Map<string, Listed>;
  /** Slices without all their endpoints. */
  readonly cut: Set<string>;
  /** Kept whole while a list is read, whatever their share. */
  readonly whole: Set<string>;
}

/** What a slice lists. */
interface Listed {
  readonly cluster: string;
  /** Endpoints, or more if the slice takes more memory than so many. */
  readonly weight: number;
}

/**
 * Limits the endpoints that are kept of the slices of one namespace, whether an import uses them or not: the import may be listed
 * later. Source clusters share the limit, and the slices of a cluster its part, so what is kept does not depend on the order of a list, nor on names. Of a slice
 * that lists more than its share, the first endpoints are kept. What else a slice holds counts by the memory that it takes.
 */
export class SliceQuota {
  readonly #table: ObjectTable<SliceFact>;
  readonly #most: number;
  readonly #events: SliceQuotaEvents;
  readonly #namespaces = new Map<string, Namespace>();
  #isListing = false;
  /** The time of the last change. */
  #at = 0;

  /** `most`: maximum endpoints of a namespace. */
  constructor(table: ObjectTable<SliceFact>, most: number, events: SliceQuotaEvents) {
    this.#table = table;
    this.#most = most;
    this.#events = events;
  }

  /** A full list begins: shares are computed at its end, and before too much is kept. */
  begin(): void {
    this.#isListing = true;
    this.#table.begin();
  }

  /** A full list is complete, or was interrupted. */
  end(): void {
    this.#table.end();
    if (!this.#isListing) return;
    this.#isListing = false;
    for (const [name, namespace] of this.#namespaces) this.#settle(name, namespace, this.#at);
  }

  /** As `ObjectTable.set`. */
  set(key: string, next: ParsedObject<SliceFact> | undefined, at: number): void {
    this.#at = at;
    const name = key.slice(0, key.indexOf("/"));
    const namespace = this.#namespaces.get(name) ?? newNamespace();
    const before = namespace.shares?.listed.get(key) ?? listedBy(this.#table.fact(key));
    const now = listedBy(next?.fact);
    namespace.listed += now.weight - before.weight;
    if (namespace.listed > this.#most) namespace.shares ??= this.#sharesOf(name);
    if (namespace.listed === 0) this.#namespaces.delete(name);
    else this.#namespaces.set(name, namespace);
    const { shares } = namespace;
    if (shares !== undefined) claim(shares, key, now);
    const kept = namespace.kept - listedBy(this.#table.fact(key)).weight + now.weight;
    let part = next;
    if (this.#isListing && kept <= this.#most * SLACK) shares?.whole.add(key);
    else if (shares !== undefined) {
      // Before this slice, so that no more is kept than may be.
      this.#settle(name, namespace, at, key);
      const grant = shares.budget.restricted(key, now.cluster)?.grant;
      if (grant !== undefined) part = firstOf(next, grant);
    }
    this.#put(namespace, key, part?.fact, () => this.#table.set(key, part, at));
    this.#review(name, namespace);
  }

  /** The shares of slices that are kept whole so far. */
  #sharesOf(namespace: string): Shares {
    const budget = new GroupedBudget<string>(this.#most);
    const shares: Shares = { budget, listed: new Map(), cut: new Set(), whole: new Set() };
    for (const fact of this.#table.facts())
      if (fact.key.startsWith(`${namespace}/`)) claim(shares, fact.key, listedBy(fact));
    return shares;
  }

  /** Keeps less of slices whose share is less now, and reports those of which more may be kept. `other`: not this one. */
  #settle(name: string, namespace: Namespace, at: number, other?: string): void {
    const { shares } = namespace;
    if (shares === undefined) return;
    const { budget, listed } = shares;
    const room: string[] = [];
    const changed = budget.takeChanged().union(shares.whole);
    shares.whole.clear();
    for (const key of changed) {
      const fact = this.#table.fact(key);
      const { cluster } = listed.get(key) ?? {};
      if (key === other || fact === undefined || cluster === undefined) continue;
      const { grant = Number.POSITIVE_INFINITY } = budget.restricted(key, cluster) ?? {};
      const { weight } = listedBy(fact);
      if (grant < weight) {
        const part = withFirst(fact, grant);
        this.#put(namespace, key, part, () => this.#table.replace(key, part, at));
      } else if (fact.omitted && grant > weight) room.push(key);
    }
    if (room.length > 0) this.#events.room(room);
    this.#review(name, namespace);
  }

  /** Counts what is kept of a slice instead of what was. */
  #put(namespace: Namespace, key: string, fact: SliceFact | undefined, put: () => void): void {
    namespace.kept -= listedBy(this.#table.fact(key)).weight;
    try {
      put();
    } finally {
      namespace.kept += listedBy(this.#table.fact(key)).weight;
    }
    if (fact?.omitted) namespace.shares?.cut.add(key);
    else namespace.shares?.cut.delete(key);
  }

  /** Reports whether anything is left out, and ends the shares that are not needed any more. */
  #review(name: string, namespace: Namespace): void {
    const isCut = (namespace.shares?.cut.size ?? 0) > 0;
    if (isCut !== namespace.isCut) this.#report(name, isCut);
    namespace.isCut = isCut;
    if (!isCut && namespace.listed <= this.#most / 2) namespace.shares = undefined;
  }

  #report(namespace: string, isOver: boolean): void {
    const object = `EndpointSlices of ${namespace}`;
    const problem = { reason: "too-many-endpoints", object, field: "endpoints" } as const;
    this.#events.problems(object, isOver ? [{ ...problem, value: `over ${this.#most}` }] : []);
  }
}

function newNamespace(): Namespace {
  return { listed: 0, kept: 0, isCut: false, shares: undefined };
}

function listedBy(fact: SliceFact | undefined): Listed {
  return { cluster: fact?.cluster ?? "", weight: fact === undefined ? 0 : weigh(fact) };
}

function weigh(fact: SliceFact): number {
  const bytes = fixedBytes(fact) + fact.endpoints.size;
  return Math.max(fact.endpoints.length, Math.ceil(bytes / BYTES_OF_ENDPOINT));
}

/** What a slice takes besides its endpoints and a port. */
function fixedBytes({ ports, properties }: SliceFact): number {
  return (ports.length > 1 ? memorySize(ports) : 0) + memorySize(properties);
}

function claim({ budget, listed }: Shares, key: string, now: Listed): void {
  const before = listed.get(key);
  if (before !== undefined && before.cluster !== now.cluster)
    budget.set(key, before.cluster, 0, 0, 1);
  budget.set(key, now.cluster, 0, now.weight, 1);
  if (now.weight > 0) listed.set(key, now);
  else listed.delete(key);
}

function firstOf(
  parsed: ParsedObject<SliceFact> | undefined,
  grant: number,
): ParsedObject<SliceFact> | undefined {
  return parsed?.fact && { ...parsed, fact: withFirst(parsed.fact, grant) };
}

/** The first endpoints that `grant` is enough for. Without endpoints, ports and properties are of no use. */
function withFirst(fact: SliceFact, grant: number): SliceFact {
  const { endpoints } = fact;
  const left = grant * BYTES_OF_ENDPOINT - fixedBytes(fact);
  const count = Math.floor(Math.min(grant, (left * endpoints.length) / endpoints.size || 0));
  if (count > 0) return { ...fact, endpoints: endpoints.cut(count), omitted: true };
  const { properties: _properties, ...rest } = fact;
  return { ...rest, ports: [], endpoints: endpoints.cut(0), omitted: true };
}
