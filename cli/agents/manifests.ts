import { parseDocuments } from "../../agent/sources/manifests/document.ts";
import { field, fieldAt, isFields, textField } from "../../api/parse/fields.ts";
import { shown } from "../../api/problem.ts";
import type { FactObjects } from "./facts.ts";

/** Kinds that agents read, and that a manifest may contain. */
const KINDS = {
  ServiceImport: "imports",
  EndpointSlice: "slices",
  ClusterProperty: "properties",
  Node: "nodes",
} as const satisfies Readonly<Record<string, keyof FactObjects>>;

/** A file of manifests. */
export interface ManifestFile {
  readonly name: string;
  readonly text: string;
}

/** Objects with manifests applied to them. */
export interface Applied<Objects> {
  readonly objects: Objects;
  /** `ServiceImport shop/web`, of the manifests that had an effect. */
  readonly applied: ReadonlySet<string>;
  /** The same, of kinds that agents do not read. */
  readonly ignored: readonly string[];
}

/**
 * The objects as they would be if the manifests were applied: fields that a manifest does not name stay, such as the VIP that the controller
 * has allocated (RFC 7396). A message if a file is invalid. PURE.
 */
export function withManifests<Objects extends FactObjects>(
  objects: Objects,
  files: readonly ManifestFile[],
): Applied<Objects> | string {
  const lists = {
    imports: byName(objects.imports),
    slices: byName(objects.slices),
    properties: byName(objects.properties),
    nodes: byName(objects.nodes),
  };
  const applied = new Set<string>();
  const ignored: string[] = [];
  for (const { name: file, text } of files) {
    const parsed = parseDocuments(text);
    if (parsed.mistake !== undefined) return `${file}: ${parsed.mistake.detail}`;
    for (const document of parsed.value.flatMap(itemsOf)) {
      const kind = textField(document, "kind") ?? "";
      const key = nameOf(document);
      if (kind === "" || key === undefined) {
        return `${file}: ${shown(document)}: expected an object with kind and metadata.name`;
      }
      if (!Object.hasOwn(KINDS, kind)) {
        ignored.push(`${kind} ${key}`);
        continue;
      }
      const list = lists[KINDS[kind as keyof typeof KINDS]];
      list.set(key, merged(list.get(key), document));
      applied.add(`${kind} ${key}`);
    }
  }
  const changed = Object.fromEntries(
    Object.entries(lists).map(([name, list]) => [name, [...list.values()]]),
  );
  return { objects: { ...objects, ...changed }, applied, ignored };
}

function byName(objects: Iterable<unknown>): Map<string, unknown> {
  return new Map(Array.from(objects, (object) => [nameOf(object) ?? "", object]));
}

function itemsOf(document: unknown): readonly unknown[] {
  const items = field(document, "items");
  return Array.isArray(items) ? items : [document];
}

/** `namespace/name` as kubectl sets it; the name alone for kinds without namespaces. */
function nameOf(object: unknown): string | undefined {
  const name = textField(fieldAt(object, "metadata"), "name");
  if (name === undefined) return undefined;
  const kind = textField(object, "kind");
  const namespace = textField(fieldAt(object, "metadata"), "namespace");
  if (kind === "ClusterProperty" || kind === "Node") return name;
  // The items of a list from an API server have no kind.
  return namespace === undefined && kind === undefined ? name : `${namespace ?? "default"}/${name}`;
}

/** A JSON merge patch of a value. */
function merged(value: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const base: Record<string, unknown> = isFields(value) ? { ...value } : {};
  for (const [name, part] of Object.entries(patch)) {
    if (part === null) delete base[name];
    else base[name] = merged(base[name], part);
  }
  return base;
}
