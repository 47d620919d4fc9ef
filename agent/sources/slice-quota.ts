import type { Problem } from "../../api/problem.ts";
import { Endpoints } from "../model/endpoints.ts";
import type { SliceFact } from "../model/facts.ts";
import type { ObjectTable, ParsedObject } from "./object-table.ts";

/** What a namespace's slices have. */
interface Usage {
  readonly endpoints: number;
  /** Slices without their endpoints. */
  readonly omitted: number;
}

/**
 * Limits the endpoints that are kept of the slices of one namespace, whether an import uses them or not: the import may be listed
 * later. Slices beyond, in order of arrival, are kept without their endpoints.
 */
export class SliceQuota {
  readonly #table: ObjectTable<SliceFact>;
  readonly #most: number;
  readonly #problems: (object: string, problems: readonly Problem[]) => void;
  readonly #usages = new Map<string, Usage>();

  /** `most`: maximum endpoints of a namespace. */
  constructor(
    table: ObjectTable<SliceFact>,
    most: number,
    problems: (object: string, problems: readonly Problem[]) => void,
  ) {
    this.#table = table;
    this.#most = most;
    this.#problems = problems;
  }

  /** As `ObjectTable.set`. False if endpoints are left out, and the slice must be read again when there may be room. */
  set(key: string, next: ParsedObject<SliceFact> | undefined, at: number): boolean {
    const namespace = key.slice(0, key.indexOf("/"));
    const usage = this.#usages.get(namespace) ?? { endpoints: 0, omitted: 0 };
    const before = this.#table.fact(key);
    const others = usage.endpoints - (before?.endpoints.length ?? 0);
    const count = next?.fact?.endpoints.length ?? 0;
    const fits = count === 0 || others + count <= this.#most;
    this.#table.set(key, fits ? next : withoutEndpoints(next), at);
    const omitted = usage.omitted - Number(before?.omitted === true) + Number(!fits);
    const endpoints = others + (fits ? count : 0);
    if (endpoints + omitted === 0) this.#usages.delete(namespace);
    else this.#usages.set(namespace, { endpoints, omitted });
    if (omitted > 0 !== usage.omitted > 0) this.#report(namespace, omitted > 0);
    return fits;
  }

  #report(namespace: string, isOver: boolean): void {
    const object = `EndpointSlices of ${namespace}`;
    const problem = { reason: "too-many-endpoints", object, field: "endpoints" } as const;
    this.#problems(object, isOver ? [{ ...problem, value: `over ${this.#most}` }] : []);
  }
}

function withoutEndpoints(
  parsed: ParsedObject<SliceFact> | undefined,
): ParsedObject<SliceFact> | undefined {
  if (parsed?.fact === undefined) return parsed;
  const { fact } = parsed;
  return { ...parsed, fact: { ...fact, endpoints: Endpoints.of(fact.family, []), omitted: true } };
}
