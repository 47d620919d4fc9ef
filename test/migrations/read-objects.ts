import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";

/** One object of another implementation. */
export interface ForeignObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly namespace?: string;
    readonly name: string;
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[];
  };
}

/** The objects of a file here, in order. */
export function foreignObjects(file: string): ForeignObject[] {
  const text = readFileSync(new URL(file, import.meta.url), "utf8");
  return parseAllDocuments(text).map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS() as ForeignObject;
  });
}
