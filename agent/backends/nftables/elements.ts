import { hash } from "node:crypto";
import { isLabelName, type ObjectKey } from "../../../api/names.ts";
import type { ServiceKey } from "../../plan/virtual-service.ts";
import type { Element, ElementChange } from "../../system/nftables/element.ts";
import type { HeldObject } from "../objects.ts";
import { SETS } from "./sets.ts";

/** The elements of one VIP and port. */
export interface ServiceElements {
  readonly head: Element | undefined;
  readonly affinity: Element | undefined;
  readonly endpoints: readonly Element[];
  readonly choices: readonly Element[];
}

/** Characters of a digest: 96 bits. */
const LENGTH = 16;
/** At the end of a comment. */
const AT_END = new RegExp(` #([\\w-]{${LENGTH}})$`);
/** Bytes of a comment: nft shows no more. */
const LONGEST_COMMENT = 127;

/** The digest of a service's elements in `endpoints` and `choices`, in any order. */
export function digestOf(endpoints: readonly Element[], choices: readonly Element[]): string {
  const lines = [endpoints, choices].map((some) =>
    some
      .map(({ key, value, comment }) => `${key} ${value} ${comment}`)
      .sort()
      .join("\n"),
  );
  return shortHash(lines.join("\n\n"));
}

/** A comment that ends with the digest, so that a new process need not read the endpoints first. */
export function withDigest(comment: string, digest: string): string {
  return `${cut(comment, LONGEST_COMMENT - LENGTH - 2)} #${digest}`;
}

/** The digest at the end of a comment; undefined if there is none. */
export function digestIn(comment: string): string | undefined {
  return AT_END.exec(comment)?.[1];
}

/** The beginning of a comment that would be too long. */
export function cut(comment: string, length = LONGEST_COMMENT): string {
  return comment.slice(0, length);
}

/** The elements of a service, as far as they are known: endpoints and choices by the last fields of their keys, and by the digest of them all. */
export interface ServiceDigest extends Pick<ServiceElements, "head" | "affinity"> {
  readonly endpoints: readonly string[];
  readonly choices: readonly string[];
  readonly digest: string;
}

/**
 * A service in the table of objects. Its digest says what each of its sets holds, and which keys a deletion needs: digests of its elements in `services`,
 * `affinity`, and the two others together, and the last fields of their keys.
 */
export function serviceObject({
  head,
  affinity,
  endpoints,
  choices,
  digest,
}: ServiceDigest): HeldObject {
  const [first, second] = [head, affinity].map((one) =>
    one === undefined ? "-" : shortHash(`${one.value} ${one.comment}`),
  );
  return {
    digest: [first, second, digest, namesOf(endpoints), namesOf(choices)].join(" "),
    importKey: head && importOf(head),
    isForwarded: Number(head?.value ?? 0) > 0,
  };
}

/** The changes that turn the elements of a service, given by its digest, into others. */
export function changesOf(
  key: ServiceKey,
  before: string = NONE,
  after: string = NONE,
  content?: ServiceElements,
): ElementChange[] {
  const [old, next] = [fieldsOf(before), fieldsOf(after)];
  const isLike = old.digest === next.digest;
  return [
    ...(isLike
      ? []
      : removed(
          SETS.endpoints,
          old.endpoints.map((one) => `${key} ${one}`),
        )),
    ...(isLike
      ? []
      : removed(
          SETS.choices,
          old.choices.map((one) => `${key} ${one}`),
        )),
    ...(isLike ? [] : added(SETS.endpoints, content?.endpoints ?? [])),
    ...(isLike ? [] : added(SETS.choices, content?.choices ?? [])),
    ...replaced(SETS.affinity, key, [old.affinity, next.affinity], content?.affinity),
    ...replaced(SETS.services, key, [old.head, next.head], content?.head),
  ];
}

/** Nothing: the digest of a service without elements. */
const NONE = `- - ${digestOf([], [])} - -`;

function fieldsOf(text: string) {
  const [head, affinity, digest, endpoints = "-", choices = "-"] = text.split(" ");
  const names = (some: string) => (some === "-" ? [] : some.split(","));
  return { head, affinity, digest, endpoints: names(endpoints), choices: names(choices) };
}

function namesOf(names: readonly string[]): string {
  return names.length === 0 ? "-" : names.join(",");
}

function replaced(
  set: typeof SETS.services | typeof SETS.affinity,
  key: ServiceKey,
  [before, after]: readonly [string | undefined, string | undefined],
  element: Element | undefined,
): ElementChange[] {
  if (before === after) return [];
  return [
    ...removed(set, before === "-" ? [] : [key]),
    ...added(set, element === undefined ? [] : [element]),
  ];
}

/** The change that adds elements, if there are any. */
export function added(
  set: (typeof SETS)[keyof typeof SETS],
  elements: readonly Element[],
): ElementChange[] {
  return elements.length === 0 ? [] : [{ kind: "add", set, elements }];
}

/** The change that deletes the elements with these keys, if there are any. */
export function removed(
  set: (typeof SETS)[keyof typeof SETS],
  keys: readonly string[],
): ElementChange[] {
  return keys.length === 0 ? [] : [{ kind: "delete", set, keys }];
}

/** The service of a key that has a slot or an ID, and this last field. */
export function splitKey(key: string): readonly [service: ServiceKey, last: string] {
  const space = key.lastIndexOf(" ");
  return [key.slice(0, space), key.slice(space + 1)];
}

/** The last fields of the keys of elements, sorted. */
export function lastFields(elements: readonly Element[]): string[] {
  return elements.map(({ key }) => splitKey(key)[1]).sort();
}

/** The import that the comment of a service names. */
function importOf({ comment }: Element): ObjectKey | undefined {
  const [name = ""] = comment.split(" ");
  const [namespace = "", rest = ""] = name.split("/");
  const [import_ = ""] = rest.split(":");
  return isLabelName(namespace) && isLabelName(import_) ? `${namespace}/${import_}` : undefined;
}

function shortHash(text: string): string {
  return hash("sha256", text, "base64url").slice(0, LENGTH);
}
