import type {
  Backend,
  Check,
  CheckScope,
  Conflict,
  Drift,
  Programmed,
  Ruleset,
  SetOptions,
  Transaction,
} from "../../agent/backends/backend.ts";
import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import type { ObjectKey } from "../../api/names.ts";
import { CodedError } from "../../common/errors.ts";

/** What a kernel of the simplest kind holds: for each import its services, as text. */
type Imports = Map<ObjectKey, string>;

interface FakeChanges {
  readonly complete: boolean;
  readonly imports: ReadonlyMap<ObjectKey, Wish>;
}

interface Wish {
  readonly services: readonly VirtualService[];
  /** Ports that stay as they are. */
  readonly kept: readonly string[];
}

interface FakeTransaction extends Transaction {
  readonly puts: ReadonlyMap<ObjectKey, string>;
  readonly drops: readonly ObjectKey[];
}

/** Where a read or an apply fails: before it took effect, or after; or with the tool's own no. */
export type Fault = "before" | "after" | "refused";

/** A backend whose kernel is a map; it fulfils the whole contract, and fails on request. */
export class FakeBackend implements Backend<Imports, FakeChanges, FakeTransaction> {
  /** What the kernel holds. */
  readonly kernel: Imports = new Map();
  /** What was done, in order: `read`, `apply +demo/a -demo/b`, `close`. */
  readonly log: string[] = [];
  /** The fate of the next reads and applies, one each. */
  readonly faults: (Fault | undefined)[] = [];
  /** How often everything was checked, and what that gives, or checks fail with. */
  checks = 0;
  drift: readonly Drift[] = [];
  /** What a check for what is gone gives. */
  gone: readonly Drift[] = [];
  checkFails: Error | undefined;
  /** Which services it refuses when they are to be written. */
  refuses: (service: VirtualService) => boolean = () => false;
  /** Imports that the next check finds removable. */
  garbage: readonly ObjectKey[] = [];
  /** Foreign objects in the place of services. */
  foreign: readonly Conflict[] = [];
  #gate: Promise<void> = Promise.resolve();
  #busy = false;

  /** Holds reads and applies until the function that it returns is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = promise;
    return resolve;
  }

  ruleset(): Ruleset<FakeChanges> {
    let complete = true;
    let imports = new Map<ObjectKey, Wish>();
    return {
      set: (
        key: ObjectKey,
        services: readonly VirtualService[],
        { kept = [] }: SetOptions = {},
      ) => {
        imports.set(key, { services, kept: kept.map(portOf) });
      },
      take: function* () {
        yield;
        const changes = { complete, imports };
        [complete, imports] = [false, new Map()];
        return changes;
      },
    };
  }

  *diff(state: Imports, { complete, imports }: FakeChanges): Generator<void, FakeTransaction> {
    yield;
    const texts = [...imports].map(([key, wish]) => [key, textOf(wish, state.get(key))] as const);
    const wanted = texts.filter(([key, text]) => (state.get(key) ?? "") !== text);
    const puts = new Map(wanted.filter(([, text]) => text !== ""));
    const unnamed = complete ? [...state.keys()].filter((key) => !imports.has(key)) : [];
    const drops = [...wanted.filter(([, text]) => text === "").map(([key]) => key), ...unnamed];
    return transaction(puts, drops);
  }

  programmed(state: Imports): Programmed {
    return {
      size: allServices(state).length,
      holder: (vip) => allServices(state).find(({ vips }) => vips.includes(vip))?.importKey,
      destinations: [],
      has: (service) =>
        servicesIn(state.get(service.importKey)).some((one) => portOf(one) === portOf(service)),
    };
  }

  conflicts(): readonly Conflict[] {
    return this.foreign;
  }

  empty(): Imports {
    return new Map();
  }

  read(): Promise<Imports> {
    return this.#do("read", () => new Map(this.kernel));
  }

  compare(before: Imports, found: Imports): Drift[] {
    return [...before].flatMap(([what, text]): Drift[] => {
      if (!found.has(what)) return [{ reason: "chain-missing", what }];
      return found.get(what) === text ? [] : [{ reason: "chain-changed", what }];
    });
  }

  async check(_: Imports, scope: CheckScope = "all"): Promise<Check<FakeTransaction>> {
    if (this.checkFails !== undefined) throw this.checkFails;
    if (scope === "gone") return { drift: this.gone, garbage: undefined, reading: "routine" };
    this.checks++;
    const garbage = this.garbage.length === 0 ? undefined : transaction(new Map(), this.garbage);
    return { drift: this.drift, garbage, reading: "routine" };
  }

  async apply(tx: FakeTransaction, state: Imports): Promise<void> {
    await this.#do(`apply ${tx.toString()}`, () => {
      this.#refuse(tx);
      change(this.kernel, tx);
    });
    change(state, tx);
  }

  async close(): Promise<void> {
    this.log.push("close");
  }

  /** As in a real kernel, one offender fails the whole transaction. */
  #refuse({ puts }: FakeTransaction): void {
    for (const [key, text] of puts) {
      const before = servicesIn(this.kernel.get(key)).map((service) => JSON.stringify(service));
      for (const service of servicesIn(text)) {
        if (before.includes(JSON.stringify(service)) || !this.refuses(service)) continue;
        throw new CodedError("CSP_RESTORE_EXITED", "refused", { rejected: true });
      }
    }
  }

  async #do<Result>(what: string, effect: () => Result): Promise<Result> {
    if (this.#busy) throw new Error(`${what}, while something else is in flight`);
    this.log.push(what);
    this.#busy = true;
    await this.#gate;
    this.#busy = false;
    const fault = this.faults.shift();
    if (fault === "before") throw new Error(`${what}: refused`);
    if (fault === "refused") {
      throw new CodedError("CSP_RESTORE_EXITED", `${what}: refused`, { rejected: true });
    }
    const result = effect();
    if (fault === "after") throw new Error(`${what}: no answer`);
    return result;
  }
}

function transaction(
  puts: ReadonlyMap<ObjectKey, string>,
  drops: readonly ObjectKey[],
): FakeTransaction {
  const words = [...[...puts.keys()].map((key) => `+${key}`), ...drops.map((key) => `-${key}`)];
  return {
    puts,
    drops,
    empty: words.length === 0,
    writes: puts.size,
    deletes: drops.length,
    toString: () => words.join(" "),
  };
}

/** What is no list of services is not ours. */
function servicesIn(text: string | undefined): VirtualService[] {
  return text?.startsWith("[") ? JSON.parse(text) : [];
}

/** Those that lead somewhere. */
function allServices(imports: Imports): VirtualService[] {
  const services = [...imports.values()].flatMap(servicesIn);
  return services.filter(({ endpoints }) => endpoints.length > 0);
}

function portOf({ port, protocol }: VirtualService): string {
  return `${port} ${protocol}`;
}

function textOf({ services, kept }: Wish, before: string | undefined): string {
  const standing = servicesIn(before).filter((service) => kept.includes(portOf(service)));
  const all = [...services, ...standing];
  return all.length === 0 ? "" : JSON.stringify(all);
}

function change(imports: Imports, { puts, drops }: FakeTransaction): void {
  for (const [key, text] of puts) imports.set(key, text);
  for (const key of drops) imports.delete(key);
}

/** Lets everything happen that does not wait for a clock or a gate. */
export async function quiet(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}
