import { isLabelName, type ObjectKey, objectKey } from "../names.ts";
import { shown } from "../problem.ts";
import type { Parsed } from "./complaints.ts";
import { Complaints } from "./complaints.ts";
import { fieldAt } from "./fields.ts";

/** The name of an object. */
export interface ObjectName {
  readonly complaints: Complaints;
  /** Absent if namespace or name is invalid. */
  readonly key?: ObjectKey;
  readonly namespace?: string;
}

/** Parses `metadata.namespace` and `metadata.name`. `isName`: whether a name is valid for this kind. */
export function parseObjectName(
  kind: string,
  object: unknown,
  isName: (text: string) => boolean,
): ObjectName {
  const namespace = fieldAt(object, "metadata", "namespace");
  const name = fieldAt(object, "metadata", "name");
  const goodNamespace = typeof namespace === "string" && isLabelName(namespace);
  const goodName = typeof name === "string" && isName(name);
  const spelled = (value: unknown, good: boolean) => (good ? String(value) : shown(value));
  const complaints = new Complaints(
    `${kind} ${spelled(namespace, goodNamespace)}/${spelled(name, goodName)}`,
  );
  if (!goodNamespace) complaints.add("invalid-name", "metadata.namespace", namespace);
  if (!goodName) complaints.add("invalid-name", "metadata.name", name);
  if (!goodNamespace || !goodName) return { complaints };
  return { complaints, key: objectKey(namespace, name), namespace };
}

/** Parses an object of a namespace. `parse` returns its fact, undefined if there is none; not called for an invalid name. */
export function parseObject<Fact>(
  kind: string,
  object: unknown,
  isName: (text: string) => boolean,
  parse: (key: ObjectKey, complaints: Complaints) => Fact | undefined,
): Parsed<Fact> {
  const { complaints, key } = parseObjectName(kind, object, isName);
  const fact = key && parse(key, complaints);
  return {
    object: complaints.object,
    problems: complaints.problems,
    ...(key !== undefined && { key }),
    ...(fact !== undefined && { fact }),
  };
}

/** Parses a cluster-scoped object, as `parseObject`. */
export function parseClusterObject<Fact>(
  kind: string,
  object: unknown,
  isName: (text: string) => boolean,
  parse: (name: string, complaints: Complaints) => Fact | undefined,
): Parsed<Fact> {
  const name = fieldAt(object, "metadata", "name");
  const isValid = typeof name === "string" && isName(name);
  const complaints = new Complaints(`${kind} ${isValid ? name : shown(name)}`);
  if (!isValid) complaints.add("invalid-name", "metadata.name", name);
  const fact = isValid ? parse(name, complaints) : undefined;
  const { object: text, problems } = complaints;
  return { object: text, problems, ...(fact !== undefined && { fact }) };
}
