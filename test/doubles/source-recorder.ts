import type {
  ClusterNetwork,
  ImportFact,
  NodeObjectFact,
  NodeObservation,
  SliceFact,
} from "../../agent/model/facts.ts";
import type { Silence } from "../../agent/model/silence.ts";
import type { SourceEvents } from "../../agent/sources/source.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";

/** Records the events of a source, in order, and the objects that result from them. */
export class SourceRecorder implements SourceEvents {
  readonly imports = new Map<ObjectKey, ImportFact>();
  readonly slices = new Map<ObjectKey, SliceFact>();
  node: NodeObjectFact | undefined;
  addresses: readonly string[] = [];
  network: ClusterNetwork | undefined;
  properties: ReadonlyMap<string, string> = new Map();
  /** By VIP. */
  readonly holders = new Map<string, ObjectKey>();
  readonly wrong = new Map<string, readonly Problem[]>();
  /** `import demo/serve`, `no slice demo/serve-x`, `problems EndpointSlice demo/x: 1`, `listed`. */
  readonly words: string[] = [];
  /** The time that came with the last change. */
  at = Number.NaN;

  importChanged(fact: ImportFact, at: number): void {
    this.imports.set(fact.key, fact);
    this.#say(`import ${fact.key}`, at);
  }

  importRemoved(key: ObjectKey, at: number): void {
    this.imports.delete(key);
    this.#say(`no import ${key}`, at);
  }

  sliceChanged(fact: SliceFact, at: number): void {
    this.slices.set(fact.key, fact);
    this.#say(`slice ${fact.key}`, at);
  }

  sliceRemoved(key: ObjectKey, at: number): void {
    this.slices.delete(key);
    this.#say(`no slice ${key}`, at);
  }

  vipHeld(vip: string, holder: ObjectKey | undefined, at: number): void {
    if (holder === undefined) this.holders.delete(vip);
    else this.holders.set(vip, holder);
    this.#say(holder === undefined ? `no holder of ${vip}` : `holder of ${vip} ${holder}`, at);
  }

  nodeObserved(part: Partial<NodeObservation>, at: number): void {
    if ("object" in part) this.node = part.object;
    if (part.addresses !== undefined) this.addresses = part.addresses;
    if (part.network !== undefined) this.network = part.network;
    if (part.properties !== undefined) this.properties = part.properties;
    for (const name of Object.keys(part)) this.#say(name === "object" ? "node" : name, at);
  }

  silenceChanged(_silence: Silence, at: number): void {
    this.#say("silence", at);
  }

  problems(object: string, problems: readonly Problem[]): void {
    if (problems.length === 0) this.wrong.delete(object);
    else this.wrong.set(object, problems);
    this.words.push(`problems ${object}: ${problems.length}`);
  }

  listed(): void {
    this.words.push("listed");
  }

  /** The words since the last call. */
  news(): string[] {
    return this.words.splice(0);
  }

  /** The present state, as a value that can be compared. */
  world(): object {
    const sorted = <V>(map: ReadonlyMap<string, V>) =>
      [...map].sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      imports: sorted(this.imports),
      slices: sorted(this.slices).map(([, slice]) => unpacked(slice)),
      node: this.node,
      properties: sorted(this.properties),
      holders: sorted(this.holders),
      wrong: sorted(this.wrong),
    };
  }

  #say(word: string, at: number): void {
    this.words.push(word);
    this.at = at;
  }
}

/** A slice as a value that can be compared, with unpacked endpoints. */
export function unpacked(slice: SliceFact): object {
  return { ...slice, endpoints: [...slice.endpoints] };
}
