import { addressFromHex, isAddress, parseAddress } from "../../../api/address.ts";
import { field, textField } from "../../../api/parse/fields.ts";
import { isProtocol } from "../../../api/protocol.ts";
import type { Element, ElementChange, SetLayout } from "./element.ts";
import type { FieldKind } from "./fields.ts";
import type { NftElement } from "./listing.ts";

/** Elements as nft writes and prints them: the way for nodes without netlink's native part, and for changes too large for its socket. */

/** Input of nft that makes a change. `table`: such as `ip name`. PURE. */
export function renderChange(table: string, change: ElementChange): string {
  const { set, kind } = change;
  const texts =
    change.kind === "add"
      ? change.elements.map((element) => elementText(set, element))
      : change.keys.map((key) => fieldsText(set.key, key));
  return `${kind} element ${table} ${set.name} { ${texts.join(", ")} }\n`;
}

/** A number as nft writes the type of `meta priority`: two numbers of 16 bits. PURE. */
export function numberText(value: number): string {
  return value === 0 ? "none" : `${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`;
}

/** An element as nft's JSON has it; undefined if it does not have the fields of the set. PURE. */
export function parseElement(
  { key: keyKinds, value: valueKinds }: SetLayout,
  { fields, value: found, comment }: NftElement,
): Element | undefined {
  const key = parseFields(keyKinds, fields);
  const value = valueKinds === undefined ? verdictOf(found[0]) : parseFields(valueKinds, found);
  return key === undefined || value === undefined ? undefined : { key, value, comment };
}

/** A verdict as netlink's elements have it; empty if there is none. */
function verdictOf(found: unknown): string {
  const verb = ["goto", "jump"].find((one) => field(found, one) !== undefined);
  if (verb !== undefined) return `${verb} ${textField(field(found, verb), "target") ?? ""}`;
  return found === undefined ? "" : "other";
}

function elementText({ key: kinds, value: valueKinds }: SetLayout, element: Element): string {
  const { key, value, comment } = element;
  const words = comment === "" ? "" : ` comment "${comment}"`;
  const target = valueKinds === undefined ? "" : ` : ${fieldsText(valueKinds, value)}`;
  return `${fieldsText(kinds, key)}${words}${target}`;
}

function fieldsText(kinds: readonly FieldKind[], text: string): string {
  const fields = text.split(" ");
  return kinds.map((kind, i) => fieldText(kind, fields[i] ?? "")).join(" . ");
}

function fieldText(kind: FieldKind, field: string): string {
  if (kind === "address") return addressFromHex(field).text;
  if (kind === "protocol") return field.toLowerCase();
  return kind === "number" ? numberText(Number(field)) : field;
}

function parseFields(kinds: readonly FieldKind[], found: readonly unknown[]): string | undefined {
  if (found.length !== kinds.length) return undefined;
  const fields = kinds.map((kind, i) => parseField(kind, String(found[i])));
  return fields.includes(undefined) ? undefined : fields.join(" ");
}

function parseField(kind: FieldKind, text: string): string | undefined {
  if (kind === "port") return /^\d+$/.test(text) ? text : undefined;
  if (kind === "number") {
    if (text === "none") return "0";
    const [, high = "", low = ""] = /^([0-9a-f]*):([0-9a-f]*)$/.exec(text) ?? [];
    if (high + low === "") return undefined;
    return `${Number.parseInt(high || "0", 16) * 0x10000 + Number.parseInt(low || "0", 16)}`;
  }
  if (kind === "protocol") {
    const protocol = text.toUpperCase();
    return isProtocol(protocol) ? protocol : undefined;
  }
  const address = parseAddress(text);
  return isAddress(address) ? address.hex : undefined;
}
