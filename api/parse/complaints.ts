import { type Problem, shown } from "../problem.ts";
import type { Reason } from "../reasons.ts";

/** Problems kept per object. What is wrong beyond them is left out all the same, but not listed. */
const KEPT = 100;

/** Collects what is wrong with one object while its parser goes on. */
export class Complaints {
  readonly problems: Problem[] = [];
  /** Kind, namespace and name, printable. */
  readonly object: string;

  constructor(object: string) {
    this.object = object;
  }

  /**
   * `path` is the way to the field, as in `endpoints[3].addresses[0]`; `value` is what stood there. Returns
   * what a parser has made of it: nothing.
   */
  add(reason: Reason, path: string, value: unknown): undefined {
    if (this.problems.length === KEPT) return;
    this.problems.push({ reason, object: this.object, field: path, value: shown(value) });
  }
}
