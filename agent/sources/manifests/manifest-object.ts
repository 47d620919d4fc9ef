import type { Cidr } from "../../../api/cidr.ts";
import {
  ABOUT_GROUP,
  ABOUT_VERSIONS,
  CONTROLLER_NAME,
  LABEL_ADDRESS_MANAGED_BY,
  MCS_GROUP,
  MCS_VERSIONS,
} from "../../../api/keys.ts";
import type { Parsed } from "../../../api/parse/complaints.ts";
import { type Fields, field, fieldAt, isFields, isUnset } from "../../../api/parse/fields.ts";
import { parseIpAddress } from "../../../api/parse/parse-ip-address.ts";
import { type Problem, shown } from "../../../api/problem.ts";
import { parseClusterProperty } from "../../model/parse-cluster-property.ts";
import { parseImport } from "../../model/parse-import.ts";
import { parseSlice } from "../../model/parse-slice.ts";
import type { FactTables } from "../fact-tables.ts";
import type { ParsedObject } from "../object-table.ts";
import { printable } from "./mistake.ts";

/** An object of a manifest file that the agent uses, or an invalid document. */
export interface ManifestObject extends ParsedObject<unknown> {
  /** False if the object has no valid name; it is then no duplicate of another. */
  readonly named: boolean;
  /** File and position, for people. */
  readonly place: string;
  /** The table of its fact and problems. An invalid document has no fact: any table reports its problems. */
  readonly table: keyof FactTables;
}

/** A kind of object that the agent uses. */
interface Kind {
  readonly table: keyof FactTables;
  readonly versions: readonly string[];
  readonly parse: (object: Fields, cidrs: readonly Cidr[]) => Parsed<unknown>;
}

const NOTHING: Parsed<never> = { object: "", problems: [] };

/** By group and kind. */
const KINDS: Readonly<Record<string, Kind>> = {
  [`${MCS_GROUP} ServiceImport`]: {
    table: "serviceimports",
    versions: MCS_VERSIONS,
    parse: (object) => parseImport(inNamespace(object)),
  },
  "discovery.k8s.io EndpointSlice": {
    table: "endpointslices",
    versions: ["v1"],
    parse: (object, cidrs) => parseSlice(inNamespace(object), cidrs),
  },
  [`${ABOUT_GROUP} ClusterProperty`]: {
    table: "clusterproperties",
    versions: ABOUT_VERSIONS,
    parse: parseClusterProperty,
  },
  "networking.k8s.io IPAddress": {
    table: "ipaddresses",
    versions: ["v1", "v1beta1"],
    parse: (object) => (isOfVip(object) ? parseIpAddress(object) : NOTHING),
  },
};

/** The objects of a file, including items of lists, in order. Skips other kinds, and slices without an import. */
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
  const [group = ""] = apiVersion.split("/", 1);
  const known = KINDS[`${group} ${kind}`];
  if (known === undefined) return [];
  const { table, versions, parse } = known;
  if (!versions.some((version) => apiVersion === `${group}/${version}`)) {
    return [refused(place, "apiVersion", apiVersion)];
  }
  const { key, ...parsed } = parse(value, cidrs);
  if (parsed.fact === undefined && parsed.problems.length === 0) return [];
  const named = key !== undefined || parsed.fact !== undefined;
  return [{ ...parsed, named, place, table }];
}

/** Items of a `List` have their own kinds; items of an `EndpointSliceList` need not. */
function itemsOf(
  list: Fields,
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

/** Services have IPAddresses, too. */
function isOfVip(object: Fields): boolean {
  return fieldAt(object, "metadata", "labels", LABEL_ADDRESS_MANAGED_BY) === CONTROLLER_NAME;
}

/** Sets the namespace `default` if there is none, as kubectl does. */
function inNamespace(object: Fields): unknown {
  const { metadata } = object;
  const namespace = fieldAt(metadata, "namespace");
  if (!isFields(metadata) || !(isUnset(namespace) || namespace === "")) return object;
  return { ...object, metadata: { ...metadata, namespace: "default" } };
}

function refused(place: string, name: string, value: unknown): ManifestObject {
  const object = `manifest ${place}`;
  const problem: Problem = { reason: "invalid-object", object, field: name, value: shown(value) };
  return { object, named: false, place, problems: [problem], table: "serviceimports" };
}
