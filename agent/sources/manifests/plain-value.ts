import { isAlias, isMap, isScalar, isSeq, type YAMLMap } from "yaml";
import type { FileFault } from "./mistake.ts";

/** Levels of nesting that a document may have; a Kubernetes object has fewer than 30. */
export const MOST_DEPTH = 100;
/** Values that the aliases of one document may add to it. */
const MOST_ALIASED = 10_000;

/** Thrown where a text is refused, and caught where its parsing began: it never leaves this folder. */
export class Refusal extends Error {
  readonly fault: FileFault;
  /** Where in the text, in UTF-16 units. */
  readonly offset: number;

  constructor(fault: FileFault, offset: number, detail: string) {
    super(detail);
    this.fault = fault;
    this.offset = offset;
  }
}

/** A value, how many values it is made of, and how many levels; aliases count as if written out. */
interface Reading {
  readonly value: unknown;
  readonly size: number;
  readonly height: number;
}

/**
 * A YAML document as plain values: strings, numbers, booleans, null, lists, mappings. The library has
 * `toJS` for this, which looks for each alias among all anchors, so that a file full of them takes minutes,
 * and finds duplicate keys by comparing each with each. Throws a `Refusal`.
 */
export function plainValue(root: unknown): unknown {
  return new PlainReader().read(root, 0).value;
}

class PlainReader {
  /** By name, its latest value so far; undefined while that value is still being read. */
  readonly #anchors = new Map<string, Reading | undefined>();
  #aliased = 0;

  read(node: unknown, depth: number): Reading {
    if (isAlias(node)) return this.#resolve(node.source, offsetOf(node), depth);
    const anchor = anchorOf(node);
    if (anchor !== undefined) this.#anchors.set(anchor, undefined);
    const reading = this.#readOwn(node, depth);
    if (anchor !== undefined) this.#anchors.set(anchor, reading);
    return reading;
  }

  #readOwn(node: unknown, depth: number): Reading {
    if (isMap(node)) return this.#readMap(node, depth);
    if (!isSeq(node)) return { value: isScalar(node) ? node.value : null, size: 1, height: 1 };
    const items = node.items.map((item) => this.read(item, depth + 1));
    return collection(
      items.map((item) => item.value),
      items,
    );
  }

  #readMap(node: YAMLMap, depth: number): Reading {
    const values = new Map<string, unknown>();
    const readings: Reading[] = [];
    for (const pair of node.items) {
      const key = String(this.read(pair.key, depth + 1).value);
      if (values.has(key)) {
        throw new Refusal("syntax-error", offsetOf(pair.key), `the key ${key} is there already`);
      }
      if (key === "<<" && isScalar(pair.key) && pair.key.type === "PLAIN") {
        const detail = "merge keys (<<) are no part of YAML 1.2";
        throw new Refusal("syntax-error", offsetOf(pair.key), detail);
      }
      const reading = this.read(pair.value, depth + 1);
      values.set(key, reading.value);
      readings.push(reading);
    }
    // fromEntries defines properties, as assignment would not: `__proto__` is a key like any other.
    return collection(Object.fromEntries(values), readings);
  }

  #resolve(name: string, offset: number, depth: number): Reading {
    const target = this.#anchors.get(name);
    if (target === undefined) {
      if (this.#anchors.has(name)) throw new Refusal("alias-bomb", offset, `*${name} holds itself`);
      throw new Refusal("syntax-error", offset, `no anchor stands before *${name}`);
    }
    this.#aliased += target.size;
    if (this.#aliased > MOST_ALIASED) {
      throw new Refusal("alias-bomb", offset, `aliases add more than ${MOST_ALIASED} values`);
    }
    if (depth + target.height > MOST_DEPTH) {
      throw new Refusal("too-deep", offset, `more than ${MOST_DEPTH} levels`);
    }
    return target;
  }
}

function collection(value: unknown, parts: readonly Reading[]): Reading {
  let [size, height] = [1, 0];
  for (const part of parts) {
    size += part.size;
    height = Math.max(height, part.height);
  }
  return { value, size, height: height + 1 };
}

function anchorOf(node: unknown): string | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) ? node.anchor : undefined;
}

function offsetOf(node: unknown): number {
  return isAlias(node) || isScalar(node) || isMap(node) || isSeq(node) ? (node.range?.[0] ?? 0) : 0;
}
