import { isClusterId, type ObjectKey } from "../../api/names.ts";
import { Complaints } from "../../api/parse/complaints.ts";
import { field, isFields } from "../../api/parse/fields.ts";
import { parseJsonText } from "../../api/parse/json-text.ts";
import { encodeProperties } from "./encode-service.ts";
import { parseExportedAnnotations, parseExportedLabels } from "./exported-metadata.ts";
import type { ExportRecord } from "./facts.ts";
import { inKeyOrder } from "./manifest.ts";
import { parseServiceProperties } from "./service-properties.ts";

/** Characters of `ANNOTATION_EXPORTS`; an API server accepts 256 KiB of annotations. */
const MOST_CHARACTERS = 32_768;
/** `[{"spec":{"ports":[{}]}}]` */
const MOST_DEPTH = 5;

/**
 * Exports of one name as the value of `ANNOTATION_EXPORTS`, in the order given. Exports beyond the limit are left out.
 * Undefined if there is none.
 */
export function encodeExports(records: readonly ExportRecord[]): string | undefined {
  const texts: string[] = [];
  let characters = "[]".length;
  for (const record of records) {
    const text = encodeExport(record);
    if (characters + text.length + 1 > MOST_CHARACTERS) continue;
    characters += text.length + 1;
    texts.push(text);
  }
  return texts.length === 0 ? undefined : `[${texts.join()}]`;
}

/** Parses the value of `ANNOTATION_EXPORTS` strictly: users of the namespace can change it. Invalid exports are left out. */
export function decodeExports(text: string | undefined, key: ObjectKey): ExportRecord[] {
  const list = text === undefined ? undefined : parseJsonText(text, MOST_CHARACTERS, MOST_DEPTH);
  const records = Array.isArray(list) ? list.flatMap((raw) => decodeExport(raw, key) ?? []) : [];
  return [...new Map(records.map((record) => [record.cluster, record])).values()];
}

function encodeExport(record: ExportRecord): string {
  const { cluster, exported, families, metadata } = record;
  return JSON.stringify({
    cluster,
    exported,
    spec: { ...encodeProperties(record), ipFamilies: families },
    ...unlessEmpty("labels", metadata.labels),
    ...unlessEmpty("annotations", metadata.annotations),
  });
}

function unlessEmpty(name: string, map: Readonly<Record<string, string>>) {
  return Object.keys(map).length === 0 ? {} : { [name]: inKeyOrder(map) };
}

function decodeExport(raw: unknown, key: ObjectKey): ExportRecord | undefined {
  const complaints = new Complaints("");
  const [cluster, exported, spec] = ["cluster", "exported", "spec"].map((name) => field(raw, name));
  const type = field(spec, "type");
  if (typeof cluster !== "string" || !isClusterId(cluster)) return undefined;
  if (typeof exported !== "number" || !Number.isSafeInteger(exported)) return undefined;
  if (!isFields(spec) || (type !== "ClusterSetIP" && type !== "Headless")) return undefined;
  const properties = parseServiceProperties({ spec }, type === "Headless", complaints);
  if (properties === undefined) return undefined;
  const labels = parseExportedLabels(field(raw, "labels"), "labels", complaints);
  const annotations = parseExportedAnnotations(field(raw, "annotations"), "", complaints);
  return { cluster, key, exported, metadata: { labels, annotations }, ...properties };
}
