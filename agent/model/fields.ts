import type { Problem } from "../../api/problem.ts";
import { shown } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";

/** Any parsed JSON or YAML mapping. */
export type Fields = Readonly<Record<string, unknown>>;

/** True for a plain mapping: not null, not a list. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Own property only: a name such as `constructor` must not find what every object inherits. */
export function field(from: unknown, name: string): unknown {
  return isFields(from) && Object.hasOwn(from, name) ? from[name] : undefined;
}

/** Own property by way of several names; undefined where the way ends. */
export function fieldAt(from: unknown, ...path: readonly string[]): unknown {
  return path.reduce(field, from);
}

/** Collects what is wrong with one object while its parser goes on. */
export class Complaints {
  readonly problems: Problem[] = [];
  readonly #object: string;

  constructor(object: string) {
    this.#object = object;
  }

  add(reason: Reason, path: string, value: unknown): void {
    this.problems.push({ reason, object: this.#object, field: path, value: shown(value) });
  }
}
