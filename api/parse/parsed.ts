import type { ObjectKey } from "../names.ts";
import type { Problem } from "../problem.ts";

/**
 * What a parser made of one object. Parts that are wrong are left out of the fact and named in `problems`;
 * an object that is wrong as a whole has no fact. Either way it harms no other object.
 */
export interface Parsed<Fact> {
  /** Kind, namespace and name, printable: what `Problem.object` says. */
  readonly object: string;
  /** Absent if the object's own name is unusable. */
  readonly key?: ObjectKey;
  readonly fact?: Fact;
  readonly problems: readonly Problem[];
}
