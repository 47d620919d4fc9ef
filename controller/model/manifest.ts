/** What JSON can say. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [field: string]: Json };

/** A JSON object. */
export type JsonFields = { readonly [field: string]: Json };

/** A Kubernetes object as it is written: plain JSON, and no field that is not ours. */
export interface Manifest {
  /** Of the newest version that is understood; the writer spells the one that the API server serves. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  /** `spec`, `status`, or what a kind has in their place. */
  readonly [field: string]: Json;
}

/** The same mapping with its keys in order: equal mappings are equal bytes. */
export function inKeyOrder<T>(mapping: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(
    Object.entries(mapping).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
  );
}
