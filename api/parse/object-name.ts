import { isLabelName, type ObjectKey, objectKey } from "../names.ts";
import { shown } from "../problem.ts";
import { Complaints } from "./complaints.ts";
import { fieldAt } from "./fields.ts";

/** Who an object is, before anything else in it is believed. */
export interface ObjectName {
  readonly complaints: Complaints;
  /** Absent if namespace or name is unusable; the complaints say which. */
  readonly key?: ObjectKey;
  readonly namespace?: string;
}

/** Reads `metadata.namespace` and `metadata.name`; `isName` says what this kind allows as its name. */
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

/** Reads `metadata.name` of an object that is in no namespace. The name is absent if it is unusable. */
export function parseClusterObjectName(
  kind: string,
  object: unknown,
  isName: (text: string) => boolean,
): { readonly complaints: Complaints; readonly name?: string } {
  const name = fieldAt(object, "metadata", "name");
  if (typeof name === "string" && isName(name)) {
    return { complaints: new Complaints(`${kind} ${name}`), name };
  }
  const complaints = new Complaints(`${kind} ${shown(name)}`);
  complaints.add("invalid-name", "metadata.name", name);
  return { complaints };
}
