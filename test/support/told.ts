import type { ImportFact, NodeObjectFact, SliceFact } from "../../agent/model/facts.ts";
import type { SourceEvents } from "../../agent/sources/source.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";

/** What a source has told: the world that follows from it, and every word in order. */
export class Told implements SourceEvents {
  readonly imports = new Map<ObjectKey, ImportFact>();
  readonly slices = new Map<ObjectKey, SliceFact>();
  node: NodeObjectFact | undefined;
  addresses: readonly string[] = [];
  properties: ReadonlyMap<string, string> = new Map();
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

  nodeChanged(fact: NodeObjectFact | undefined, at: number): void {
    this.node = fact;
    this.#say("node", at);
  }

  addressesChanged(addresses: readonly string[], at: number): void {
    this.addresses = addresses;
    this.#say("addresses", at);
  }

  propertiesChanged(properties: ReadonlyMap<string, string>, at: number): void {
    this.properties = properties;
    this.#say("properties", at);
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

  /** All that is believed now, as a value that can be compared. */
  world(): object {
    const sorted = <V>(map: ReadonlyMap<string, V>) =>
      [...map].sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      imports: sorted(this.imports),
      slices: sorted(this.slices).map(([, slice]) => unpacked(slice)),
      node: this.node,
      properties: sorted(this.properties),
      wrong: sorted(this.wrong),
    };
  }

  #say(word: string, at: number): void {
    this.words.push(word);
    this.at = at;
  }
}

/** A slice as a value that can be compared, whoever packed its endpoints. */
export function unpacked(slice: SliceFact): object {
  return { ...slice, endpoints: [...slice.endpoints] };
}
