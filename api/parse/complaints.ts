import type { ObjectKey } from "../names.ts";
import { type Problem, shown } from "../problem.ts";
import type { Reason } from "../reasons.ts";

/** Maximum problems that are kept per object; further ones are not listed. */
const KEPT = 100;

/** Collects the problems of one object while it is parsed. */
export class Complaints {
  readonly problems: Problem[] = [];
  /** Kind, namespace and name, printable. */
  readonly object: string;

  constructor(object: string) {
    this.object = object;
  }

  /** Adds a problem of `value` at `path`, such as `endpoints[3].addresses[0]`. Returns undefined, as parsers do then. */
  add(reason: Reason, path: string, value: unknown): undefined {
    if (this.problems.length === KEPT) return;
    this.problems.push({ reason, object: this.object, field: path, value: shown(value) });
  }
}

/** A parsed object. Invalid parts are missing from the fact and listed in `problems`. */
export interface Parsed<Fact> {
  /** As in `Problem.object`. */
  readonly object: string;
  /** Absent if the object's name is invalid. */
  readonly key?: ObjectKey;
  readonly fact?: Fact;
  readonly problems: readonly Problem[];
}
