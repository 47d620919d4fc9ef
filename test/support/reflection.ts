import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { field } from "../../common/kubernetes/json.ts";
import { metaOf } from "../../common/kubernetes/object-meta.ts";
import { Reflector, type ResourceQuery } from "../../common/kubernetes/reflector.ts";
import { FakeClock } from "./fake-clock.ts";
import { logLines } from "./log-lines.ts";
import { ModelApiServer } from "./model-api-server.ts";

/** What a reflector asks for, unless a test says otherwise. */
const QUERY: ResourceQuery = { group: "example.io", versions: ["v1"], resource: "things" };

/** A reflector, the API server in memory that it reflects, and everything that it has said. */
export class Reflection {
  readonly clock = new FakeClock();
  readonly server = new ModelApiServer(this.clock);
  readonly reflector: Reflector;
  /** What exists, as far as was told: values by key. */
  readonly believed: Map<string, number>;
  /** Everything that was told, a line each, states with their reason. */
  readonly told: string[] = [];
  /** What the log heard. */
  readonly errors: readonly string[];
  /** Is called when an object was told. */
  onChanged = (): void => {};
  /** What must not have been told. */
  readonly wrong: string[] = [];
  /** Makes the next calls of `changed` throw. */
  throwing = 0;
  /** The version of each key when it was last told to exist. */
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
  static async of(count: number, prepare?: (of: Reflection) => void): Promise<Reflection> {
    const reflection = new Reflection();
    for (let i = 0; i < count; i++) reflection.server.store.put(`o${i}`, i);
    prepare?.(reflection);
    await reflection.start();
    return reflection;
  }

  /** What is true of the server: values by key. */
  get actual(): Map<string, number> {
    return new Map([...this.server.store.objects].map(([key, { value }]) => [key, value]));
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

  /** Stops it; everything it said must have been right, and nothing may be waiting. */
  async end(): Promise<void> {
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

  /** What was told since the last call. */
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
    const end = this.server.store.ends.get(key) ?? 0;
    if (end <= (this.#versions.get(key) ?? 0)) this.wrong.push(`${key} never ceased to exist`);
  }

  #say(line: string): void {
    if (this.#stopped) this.wrong.push(`${line} after the end`);
    this.told.push(line);
  }
}
