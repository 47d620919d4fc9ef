/** Services that are tried together. */
interface Group<Unit> {
  readonly units: readonly Unit[];
  /** True if the next group is the other half of what was refused as a whole. */
  readonly first: boolean;
}

/**
 * The search for what the kernel refuses, among services of which it refused some together: what to try next,
 * from what came of it before. Each group that is refused is halved until single services remain, so that k
 * guilty ones among n are found in about 2 k log2(n / k) trials. A value; PURE.
 */
export class Search<Unit> {
  readonly #groups: readonly Group<Unit>[];

  private constructor(groups: readonly Group<Unit>[]) {
    this.#groups = groups.filter(({ units }) => units.length > 0);
  }

  /** A search over groups, of which the first is tried first. */
  static over<Unit>(...groups: readonly (readonly Unit[])[]): Search<Unit> {
    return new Search(groups.map((units) => ({ units, first: false })));
  }

  /** What to try next, on top of all that has gone through; undefined if nothing is left. */
  get next(): readonly Unit[] | undefined {
    return this.#groups[0]?.units;
  }

  /** The search that goes before this one. */
  after(other: Search<Unit>): Search<Unit> {
    return new Search([...other.#groups, ...this.#groups]);
  }

  /** What to do after `next` has gone through. */
  accepted(): Search<Unit> {
    const [tried, second, ...rest] = this.#groups;
    if (tried?.first !== true || second === undefined) return new Search(this.#groups.slice(1));
    // The first half is innocent, so the second is not: its own halves are tried at once.
    return new Search([...halves(second), ...rest]);
  }

  /** What to do after `next` has been refused. One service that is refused is guilty; the search goes on without it. */
  refused(): Search<Unit> {
    const [tried, ...rest] = this.#groups;
    if (tried === undefined) return this;
    return new Search(tried.units.length === 1 ? rest : [...halves(tried), ...rest]);
  }
}

/** A single service stays whole: it is tried before it is called guilty. */
function halves<Unit>({ units }: Group<Unit>): Group<Unit>[] {
  if (units.length === 1) return [{ units, first: false }];
  const middle = Math.ceil(units.length / 2);
  return [
    { units: units.slice(0, middle), first: true },
    { units: units.slice(middle), first: false },
  ];
}
