import type { Cidr } from "../../../api/cidr.ts";
import {
  ABOUT_GROUP,
  ABOUT_VERSIONS,
  DISCOVERY_V1,
  MCS_GROUP,
  MCS_VERSIONS,
} from "../../../api/keys.ts";
import { field, fieldAt, isFields, isUnset } from "../../../api/parse/fields.ts";
import type { Parsed } from "../../../api/parse/parsed.ts";
import { type Problem, shown } from "../../../api/problem.ts";
import type { ImportFact, PropertyFact, SliceFact } from "../../model/facts.ts";
import { parseClusterProperty } from "../../model/parse-cluster-property.ts";
import { parseImport } from "../../model/parse-import.ts";
import { parseSlice } from "../../model/parse-slice.ts";
import { printable } from "./mistake.ts";

/** A fact with its kind, since all share a source but not a type. */
export type ManifestFact =
  | { readonly kind: "ServiceImport"; readonly fact: ImportFact }
  | { readonly kind: "EndpointSlice"; readonly fact: SliceFact }
  | { readonly kind: "ClusterProperty"; readonly fact: PropertyFact };

/** One object of a manifest file that is the agent's business, or a document that is no object at all. */
export interface ManifestObject {
  /** What `Problem.object` says: two with the same text claim to be the same object. */
  readonly object: string;
  /** False if nothing says which object this is; then it rivals no other. */
  readonly named: boolean;
  /** File and position, for people. */
  readonly place: string;
  readonly content?: ManifestFact;
  readonly problems: readonly Problem[];
}

/**
 * The objects in the documents of one file, lists taken apart, in the order of the file. Kinds and groups
 * that the agent does not use are left out, and so are slices that belong to no import.
 */
export function manifestObjects(
  file: string,
  documents: readonly unknown[],
  clusterSetCidrs: readonly Cidr[] = [],
): ManifestObject[] {
  return documents.flatMap((document, i) =>
    objectsOf(document, `${printable(file)} document ${i + 1}`, clusterSetCidrs),
  );
}

function objectsOf(value: unknown, place: string, cidrs: readonly Cidr[]): ManifestObject[] {
  const kind = field(value, "kind");
  const apiVersion = field(value, "apiVersion");
  if (!isFields(value)) return [refused(place, "document", value)];
  if (typeof kind !== "string") return [refused(place, "kind", kind)];
  if (typeof apiVersion !== "string") return [refused(place, "apiVersion", apiVersion)];
  if (kind.endsWith("List") && Object.hasOwn(value, "items")) {
    return itemsOf(value, apiVersion, kind, place, cidrs);
  }
  switch (`${groupOf(apiVersion)} ${kind}`) {
    case `${MCS_GROUP} ServiceImport`: {
      if (!MCS_API.includes(apiVersion)) return [refused(place, "apiVersion", apiVersion)];
      const parsed = parseImport(inNamespace(value));
      const { fact } = parsed;
      return parsedObject(parsed, place, fact && { kind: "ServiceImport", fact });
    }
    case `${groupOf(DISCOVERY_V1)} EndpointSlice`: {
      if (apiVersion !== DISCOVERY_V1) return [refused(place, "apiVersion", apiVersion)];
      const parsed = parseSlice(inNamespace(value), cidrs);
      const { fact } = parsed;
      return parsedObject(parsed, place, fact && { kind: "EndpointSlice", fact });
    }
    case `${ABOUT_GROUP} ClusterProperty`: {
      if (!ABOUT_API.includes(apiVersion)) return [refused(place, "apiVersion", apiVersion)];
      const parsed = parseClusterProperty(value);
      const { fact } = parsed;
      return parsedObject(parsed, place, fact && { kind: "ClusterProperty", fact });
    }
    default:
      return [];
  }
}

const MCS_API: readonly string[] = MCS_VERSIONS.map((version) => `${MCS_GROUP}/${version}`);
const ABOUT_API: readonly string[] = ABOUT_VERSIONS.map((version) => `${ABOUT_GROUP}/${version}`);

function groupOf(apiVersion: string): string {
  return apiVersion.split("/", 1)[0] ?? "";
}

/** The items of `List` name their kinds themselves; those of `EndpointSliceList` take it from the list. */
function itemsOf(
  list: Readonly<Record<string, unknown>>,
  apiVersion: string,
  kind: string,
  place: string,
  cidrs: readonly Cidr[],
): ManifestObject[] {
  const { items } = list;
  if (isUnset(items)) return [];
  if (!Array.isArray(items)) return [refused(place, "items", items)];
  const typed = kind === "List" ? {} : { apiVersion, kind: kind.slice(0, -"List".length) };
  return items.flatMap((item: unknown, i) =>
    objectsOf(isFields(item) ? { ...typed, ...item } : item, `${place} items[${i}]`, cidrs),
  );
}

/** The namespace of an object that names none is `default`, as with kubectl. */
function inNamespace(object: Readonly<Record<string, unknown>>): unknown {
  const { metadata } = object;
  const namespace = fieldAt(metadata, "namespace");
  if (!isFields(metadata) || !(isUnset(namespace) || namespace === "")) return object;
  return { ...object, metadata: { ...metadata, namespace: "default" } };
}

function parsedObject(
  parsed: Parsed<unknown>,
  place: string,
  content: ManifestFact | undefined,
): ManifestObject[] {
  const { object, problems } = parsed;
  if (content === undefined && problems.length === 0) return [];
  const named = parsed.key !== undefined || content?.kind === "ClusterProperty";
  return [{ object, named, place, problems, ...(content && { content }) }];
}

function refused(place: string, name: string, value: unknown): ManifestObject {
  const object = `manifest ${place}`;
  const problem: Problem = { reason: "invalid-object", object, field: name, value: shown(value) };
  return { object, named: false, place, problems: [problem] };
}
