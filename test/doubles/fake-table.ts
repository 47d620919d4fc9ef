import type {
  CheckScope,
  Conflict,
  Drift,
  Programmed,
  Transaction,
} from "../../agent/backends/backend.ts";
import type { Dataplane, Layout } from "../../agent/backends/dataplane.ts";
import { type Check, KernelChange, KernelTable } from "../../agent/backends/kernel-table.ts";
import { type Change, type Held, PLAIN } from "../../agent/backends/objects.ts";
import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import type { ObjectKey } from "../../api/names.ts";
import { CodedError } from "../../common/errors.ts";

/** What is desired of an import. */
interface Wish {
  readonly services: readonly VirtualService[];
  /** Ports that stay as they are. */
  readonly kept: readonly string[];
}

interface FakeCommands extends Transaction {
  readonly puts: ReadonlyMap<string, string>;
  readonly deletes: number;
  readonly drops: readonly string[];
}

/** Where a read or a write fails: before it took effect, or after; or with the tool's own no. */
export type Fault = "before" | "after" | "refused";

/** Each import is one object: its services as a text. */
class FakeLayout implements Layout<Wish, FakeCommands> {
  readonly base = [];
  readonly isSpare = PLAIN.isSpare;
  readonly most = PLAIN.most;
  readonly #kernel: FakeDataplane;

  constructor(kernel: FakeDataplane) {
    this.#kernel = kernel;
  }

  rendering() {
    return {
      parts: (services: readonly VirtualService[], { kept = [] as readonly VirtualService[] }) =>
        [...services, ...kept].slice(0, 1).map(({ importKey: id }) => {
          return { id, digest: "", content: { services, kept: kept.map(portOf) } };
        }),
    };
  }

  after(_id: string, before: string | undefined, part: { readonly content: Wish } | undefined) {
    if (part === undefined) return undefined;
    const { services, kept } = part.content;
    const standing = servicesIn(before).filter((service) => kept.includes(portOf(service)));
    const all = [...services, ...standing];
    return all.length === 0 ? undefined : JSON.stringify(all);
  }

  idsOf({ importKey }: VirtualService): string[] {
    return [importKey];
  }

  isShared(): boolean {
    return false;
  }

  commands({ puts, deletes }: Change<Wish>): FakeCommands {
    const texts = [...puts].flatMap(([id, { after }]) =>
      after === undefined ? [] : [[id, after] as const],
    );
    const gone = [...puts].flatMap(([id, { after }]) => (after === undefined ? [id] : []));
    const drops = [...gone, ...deletes.keys()];
    const words = [...texts.map(([id]) => `+${id}`), ...drops.map((id) => `-${id}`)];
    return {
      ...{ puts: new Map(texts), drops, empty: words.length === 0 },
      ...{ writes: texts.length, deletes: drops.length },
      toString: () => words.join(" "),
    };
  }

  programmed(held: Held): Programmed {
    const servicesOf = (id: string) => servicesIn(held.get(id)?.digest);
    const forwarded = () =>
      [...held.keys()].flatMap(servicesOf).filter(({ endpoints }) => endpoints.length > 0);
    return {
      get size() {
        return forwarded().length;
      },
      holder: (vip) => forwarded().find(({ vips }) => vips.includes(vip))?.importKey,
      destinations: [],
      has: (service) =>
        servicesOf(service.importKey).some((one) => portOf(one) === portOf(service)),
    };
  }

  conflicts(): readonly Conflict[] {
    return this.#kernel.foreign;
  }

  drift(ids: readonly string[], before: Held, { held }: { readonly held: Held }): Drift[] {
    return ids
      .filter((id) => before.has(id))
      .map((what) => ({ reason: held.has(what) ? "chain-changed" : "chain-missing", what }));
  }
}

/** A kernel that is a map, and fails on request. */
class FakeDataplane implements Dataplane<Wish, FakeCommands> {
  readonly layout = new FakeLayout(this);
  /** What the kernel holds: for each import its services, as text. */
  readonly kernel = new Map<ObjectKey, string>();
  /** What was done, in order: `read`, `apply +demo/a -demo/b`, `close`. */
  readonly log: string[] = [];
  /** The fate of the next reads and writes, one each. */
  readonly faults: (Fault | undefined)[] = [];
  /** Which services it refuses when they are to be written. */
  refuses: (service: VirtualService) => boolean = () => false;
  /** Foreign objects in the place of services. */
  foreign: readonly Conflict[] = [];
  gate: Promise<void> = Promise.resolve();
  #busy = false;

  read() {
    return this.#do("read", () => {
      return { held: new Map([...this.kernel].map(([key, digest]) => [key, { digest }])) };
    });
  }

  write(commands: FakeCommands): Promise<ReadonlySet<string>> {
    return this.#do(`apply ${commands.toString()}`, () => {
      this.#refuse(commands);
      for (const [key, text] of commands.puts) this.kernel.set(key as ObjectKey, text);
      for (const key of commands.drops) this.kernel.delete(key as ObjectKey);
      return new Set();
    });
  }

  async changes(): Promise<undefined> {
    return undefined;
  }

  async close(): Promise<void> {
    this.log.push("close");
  }

  /** As in a real kernel, one offender fails the whole transaction. */
  #refuse({ puts }: FakeCommands): void {
    for (const [key, text] of puts) {
      const before = servicesIn(this.kernel.get(key as ObjectKey)).map((one) =>
        JSON.stringify(one),
      );
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
    await this.gate;
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

/** A table of objects over a fake kernel. What its checks find is set by tests. */
export class FakeTable extends KernelTable {
  readonly #fake: FakeDataplane;
  /** How often everything was checked, and what that gives, or checks fail with. */
  checks = 0;
  drift: readonly Drift[] = [];
  /** What a check for what is gone gives. */
  gone: readonly Drift[] = [];
  checkFails: Error | undefined;
  /** Imports that the next check finds removable. */
  garbage: readonly ObjectKey[] = [];

  constructor(fake = new FakeDataplane()) {
    super(fake);
    this.#fake = fake;
  }

  get kernel(): FakeDataplane["kernel"] {
    return this.#fake.kernel;
  }

  get log(): string[] {
    return this.#fake.log;
  }

  get faults(): FakeDataplane["faults"] {
    return this.#fake.faults;
  }

  set refuses(refuses: FakeDataplane["refuses"]) {
    this.#fake.refuses = refuses;
  }

  set foreign(foreign: readonly Conflict[]) {
    this.#fake.foreign = foreign;
  }

  /** Holds reads and writes until the function that it returns is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#fake.gate = promise;
    return resolve;
  }

  override async check(scope: CheckScope = "all", _stop?: AbortSignal): Promise<Check> {
    if (this.checkFails !== undefined) throw this.checkFails;
    if (scope === "gone") return { drift: this.gone, garbage: undefined, reading: "routine" };
    this.checks++;
    const garbage = this.garbage.length === 0 ? undefined : this.#removal();
    return { drift: this.drift, garbage, reading: "routine" };
  }

  #removal(): KernelChange {
    const deletes = new Map(this.garbage.map((key) => [key, { before: "", after: undefined }]));
    const change = { puts: new Map(), deletes };
    return new KernelChange(change, this.#fake.layout.commands(change));
  }
}

/** What is no list of services is not ours. */
function servicesIn(text: string | undefined): VirtualService[] {
  return text?.startsWith("[") ? JSON.parse(text) : [];
}

function portOf({ port, protocol }: VirtualService): string {
  return `${port} ${protocol}`;
}

/** Lets everything happen that does not wait for a clock or a gate. */
export async function quiet(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}
