import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { field } from "../../api/parse/fields.ts";
import { metaOf } from "../../common/kubernetes/object-meta.ts";
import { Reflector, type ResourceQuery } from "../../common/kubernetes/reflector.ts";
import { FakeClock } from "../doubles/fake-clock.ts";
import { logLines } from "../doubles/log-lines.ts";
import { at, type Fields, put } from "../doubles/memory/fields.ts";
import { CALM, MemoryApiServer } from "../doubles/memory/memory-api-server.ts";
import type { MemoryObjects } from "../doubles/memory/object-table.ts";

/** Objects of one simple kind: `things` of the namespace `shop`, each with a number. */
class Things {
  /** True if the server has gone back in time. */
  restored = false;
  /** The version at which each key last ceased to exist; infinite once versions went back. */
  readonly ends = new Map<string, number>();
  readonly #objects: MemoryObjects;

  constructor(objects: MemoryObjects) {
    this.#objects = objects;
    objects.listen(({ key, type, version }) => {
      if (type === "DELETED")
        this.ends.set(key, this.restored ? Number.POSITIVE_INFINITY : version);
    });
  }

  get version(): number {
    return this.#objects.version;
  }

  /** Values by key. */
  get values(): Map<string, number> {
    const all = this.#objects.list("things").map((object): [string, number] => {
      return [`shop/${String(at(object, ["metadata", "name"]))}`, Number(object.value)];
    });
    return new Map(all);
  }

  get(name: string): Fields | undefined {
    return this.#objects.get("things", `shop/${name}`);
  }

  put(name: string, value: number): void {
    const object = { metadata: { namespace: "shop", name }, value };
    this.#objects.replace("things", `shop/${name}`, object, "user");
  }

  delete(name: string): void {
    this.#objects.delete("things", `shop/${name}`);
  }

  /** Restores a backup with only these objects; watches get no event. */
  restore(names: readonly string[], version: number): void {
    const { stored } = this.#objects.save();
    for (const [id, { object }] of stored) {
      put(object, ["metadata", "resourceVersion"], String(version));
      if (names.some((name) => id === `things shop/${name}`)) continue;
      stored.delete(id);
      this.ends.set(id.replace("things ", ""), Number.POSITIVE_INFINITY);
    }
    this.#objects.restore({ stored, version });
    this.restored = true;
  }
}

/** The default query of a reflector. */
const QUERY: ResourceQuery = { group: "example.io", versions: ["v1"], resource: "things" };

/** A reflector, its API server in memory, and everything that it has reported. */
export class ReflectorStage implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly server = new MemoryApiServer("one", this.clock, () => 0.5);
  readonly things = new Things(this.server.objects);
  readonly reflector: Reflector;
  /** Existing objects, as reported: values by key. */
  readonly believed: Map<string, number>;
  /** Everything that was reported, one line each, states with their reason. */
  readonly told: string[] = [];
  /** The log. */
  readonly errors: readonly string[];
  /** Called when an object is reported. */
  onChanged = (): void => {};
  /** Wrong reports. */
  readonly wrong: string[] = [];
  /** Makes the next calls of `changed` throw. */
  throwing = 0;
  /** The version of each key when it was last reported. */
  readonly #versions = new Map<string, number>();
  /** Keys of which a call threw. */
  readonly #untaken = new Set<string>();
  #stopped = false;

  /** `known`: what was known of the server before, by key. */
  constructor(
    query: Partial<ResourceQuery> = {},
    random: () => number = () => 0.5,
    known: ReadonlyMap<string, number> = new Map(),
  ) {
    this.server.weather = CALM;
    this.server.served = ["v1"];
    this.server.page = 3;
    this.server.chunk = 50;
    this.believed = new Map(known);
    const { log, lines } = logLines();
    this.errors = lines;
    this.reflector = new Reflector({
      api: this.server,
      query: { ...QUERY, ...query },
      clock: this.clock,
      random,
      log,
      known: known.keys(),
      events: {
        changed: (key, object) => this.#changed(key, object),
        removed: (key) => this.#removed(key),
        listed: () => this.#say("listed"),
        state: ({ reason }) => this.#say(reason),
      },
    });
  }

  /** A reflection of a server with so many objects, `o0` and on, at rest. */
  static async of(count: number, prepare?: (of: ReflectorStage) => void): Promise<ReflectorStage> {
    const reflection = new ReflectorStage();
    for (let i = 0; i < count; i++) reflection.things.put(`o${i}`, i);
    prepare?.(reflection);
    await reflection.start();
    return reflection;
  }

  /** What is true of the server: values by key. */
  get actual(): Map<string, number> {
    return this.things.values;
  }

  /** The reason of the last state. */
  get state(): string | undefined {
    const others = /^(\+|-|listed)/;
    return this.told.findLast((line) => !others.test(line));
  }

  /** Starts, and lets it come to rest. */
  async start(): Promise<void> {
    this.reflector.start();
    await this.settle();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.reflector.stop();
  }

  /** Stops it; every report must have been right, and nothing may be pending. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    assert.deepEqual(this.wrong, []);
    assert.equal(this.clock.pending, 0);
  }

  /** Moves time on, and lets what that causes come to rest, timer by timer. */
  async pass(ms: number): Promise<void> {
    await this.settle();
    for (let left = ms; left > 0; ) {
      const step = Math.min(left, Math.max(1, this.clock.next ?? left));
      this.clock.advance(step);
      left -= step;
      await this.settle();
    }
  }

  /** Lets all that can happen without time happen. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 12; turn++) await setImmediate();
  }

  /** Reports since the last call. */
  news(): string[] {
    return this.told.splice(0);
  }

  #changed(key: string, object: unknown): void {
    if (this.throwing > 0) {
      this.throwing--;
      this.#untaken.add(key);
      throw new Error("not taken");
    }
    this.#say(`+${key}`);
    const value = field(object, "value");
    assert.ok(typeof value === "number");
    this.believed.set(key, value);
    this.onChanged();
    this.#versions.set(key, Number(metaOf(object)?.resourceVersion));
  }

  #removed(key: string): void {
    this.#say(`-${key}`);
    if (!this.believed.delete(key) && !this.#untaken.has(key))
      this.wrong.push(`${key} was not there`);
    const end = this.things.ends.get(key) ?? 0;
    if (this.reflector.faults.has("too-many-objects")) return;
    if (end <= (this.#versions.get(key) ?? 0)) this.wrong.push(`${key} never ceased to exist`);
  }

  #say(line: string): void {
    if (this.#stopped) this.wrong.push(`${line} after the end`);
    this.told.push(line);
  }
}
