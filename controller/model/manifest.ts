import { MCS_GROUP, MCS_VERSIONS } from "../../api/keys.ts";
import { compareText, namesOf, type ObjectKey } from "../../api/names.ts";

/** A JSON value. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [field: string]: Json };

/** A JSON object. */
export type JsonFields = { readonly [field: string]: Json };

/** The object with which Kubernetes deletes this one. */
export type OwnerReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
};

/** A Kubernetes object to apply: only our own fields. */
export interface Manifest {
  /** The newest known version; the writer uses the served one. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly OwnerReference[];
  };
  readonly [field: string]: Json;
}

/** Sorted by key, so that equal maps are equal as JSON. */
export function inKeyOrder<T>(mapping: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(mapping).toSorted(([a], [b]) => compareText(a, b)));
}

/** A ServiceExport or ServiceImport; empty labels and annotations are left out. */
export function mcsObject(
  kind: "ServiceExport" | "ServiceImport",
  key: ObjectKey,
  labels: Readonly<Record<string, string>> = {},
  annotations: Readonly<Record<string, string>> = {},
): Manifest {
  const { namespace, name } = namesOf(key);
  return {
    apiVersion: `${MCS_GROUP}/${MCS_VERSIONS[0]}`,
    kind,
    metadata: {
      name,
      namespace,
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
  };
}
