import type { ObjectKey } from "../names.ts";
import type { Problem } from "../problem.ts";

/** A parsed object. Invalid parts are missing from the fact and listed in `problems`. */
export interface Parsed<Fact> {
  /** As in `Problem.object`. */
  readonly object: string;
  /** Absent if the object's name is invalid. */
  readonly key?: ObjectKey;
  readonly fact?: Fact;
  readonly problems: readonly Problem[];
}
