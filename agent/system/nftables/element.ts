import type { FieldKind } from "./fields.ts";

/** A set, or with a value a map, whose elements are written and read. */
export interface SetLayout {
  readonly name: string;
  readonly key: readonly FieldKind[];
  readonly value?: readonly FieldKind[];
}

/** One element; its texts as `fields.ts` describes them. */
export interface Element {
  readonly key: string;
  /** Empty in a set. */
  readonly value: string;
  /** Empty if there is none; at most 127 bytes. */
  readonly comment: string;
  /** Milliseconds for which it lives; absent if it has no timeout, or that of its set. */
  readonly timeout?: number;
  /** Milliseconds until it expires, as the kernel has it. */
  readonly expires?: number;
  /** Packets that its counter has counted, as the kernel has them. */
  readonly packets?: number;
}

/** Elements to add to one set, or keys to delete. */
export type ElementChange =
  | { readonly kind: "add"; readonly set: SetLayout; readonly elements: readonly Element[] }
  | { readonly kind: "delete"; readonly set: SetLayout; readonly keys: readonly string[] };
