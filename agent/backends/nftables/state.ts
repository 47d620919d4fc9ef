import type { ObjectKey } from "../../../api/names.ts";
import { isLabelName } from "../../../api/names.ts";
import type { Element } from "../../system/nftables/element.ts";
import type { ServiceKey } from "../nft/service-key.ts";
import type { ServiceChanges } from "../nft/service-ruleset.ts";

/** Value and comment of an element as one text. */
export type Content = string;

/** A service in the cached state. */
export interface KernelService {
  /** Of its element in `services`; undefined if that is missing. */
  readonly head: Content | undefined;
  /** Of its element in `affinity`, if there is one. */
  readonly affinity: Content | undefined;
  /** The last fields of the keys of its elements in `endpoints` and `choices`, sorted. */
  readonly endpoints: readonly string[];
  readonly choices: readonly string[];
  /** Of all its elements in these two (`digestOf`). */
  readonly digest: string;
  /** Chains that it needs, besides those that always exist. */
  readonly chains: readonly string[];
}

/** A desired service. */
export interface DesiredService {
  readonly head: Element;
  readonly affinity: Element | undefined;
  readonly endpoints: readonly Element[];
  readonly choices: readonly Element[];
  /** Of these two. */
  readonly digest: string;
  /** Chains that it needs, besides those that always exist. */
  readonly chains: readonly string[];
}

/** What the kernel should hold. */
export type Changes = ServiceChanges<DesiredService>;

/** The cached state of the kernel, for one family. */
export interface KernelState {
  readonly services: Map<ServiceKey, KernelService>;
  readonly explicit: Set<string>;
  /** The comments of our rules, sorted; empty if there is no table. */
  rules: readonly string[];
  /** True if the table is replaced: a set has elements that are not of the form that we write, or the table has flags. */
  foreign: boolean;
}

/** The state of a kernel that holds nothing of ours. */
export function nothing(): KernelState {
  return {
    services: new Map(),
    explicit: new Set(),
    rules: [],
    foreign: false,
  };
}

/** The service of a key that has a slot or an ID, and this last field. */
export function splitKey(key: string): readonly [service: ServiceKey, last: string] {
  const space = key.lastIndexOf(" ");
  return [key.slice(0, space), key.slice(space + 1)];
}

/** Value and comment of an element. */
export function contentOf({ value, comment }: Element): Content {
  return `${value} ${comment}`;
}

/** The import that the comment of a service names. */
export function importOf(head: Content): ObjectKey | undefined {
  const [, name = ""] = head.split(" ");
  const [namespace = "", rest = ""] = name.split("/");
  const [import_ = ""] = rest.split(":");
  return isLabelName(namespace) && isLabelName(import_) ? `${namespace}/${import_}` : undefined;
}

/** The last fields of the keys of elements, sorted. */
export function lastFields(elements: readonly Element[]): string[] {
  return elements.map(({ key }) => splitKey(key)[1]).sort();
}

/** A desired service as the kernel holds it afterwards. */
export function settled({
  head,
  affinity,
  endpoints,
  choices,
  digest,
  chains,
}: DesiredService): KernelService {
  return {
    head: contentOf(head),
    affinity: affinity && contentOf(affinity),
    endpoints: lastFields(endpoints),
    choices: lastFields(choices),
    digest,
    chains,
  };
}
