import { addressFromHex } from "../../../api/address.ts";
import type { ObjectKey } from "../../../api/names.ts";
import { digitsOf, type ServiceKey, type VirtualService } from "../../plan/virtual-service.ts";
import type { ElementChange } from "../../system/nftables/element.ts";
import { renderChange } from "../../system/nftables/text.ts";
import type { Drift, Programmed, Transaction } from "../backend.ts";
import type { Found, Layout, Rendering } from "../dataplane.ts";
import type { Change, Held, Part } from "../objects.ts";
import { added, changesOf, removed, type ServiceElements } from "./elements.ts";
import { chainNames, partNameOf } from "./extra-chains.ts";
import { idsOf, renderService } from "./render.ts";
import {
  chainOfId,
  explicitOfId,
  SETS,
  SKELETON,
  type SkeletonOptions,
  tableOf,
  WHOLE,
} from "./sets.ts";
import { renderDeleted, renderExtra, renderRetired, renderSkeleton } from "./skeleton-text.ts";

/** What is written of an object; undefined for chains and VIPs, whose ID says all. */
export type Content = ServiceElements | undefined;

/** Extra chains without a service that stay, because one that is scaled up and down needs the same again. */
const MOST_UNUSED = 64;

/** The digest of an extra chain to which no map leads any more, of a table that has to be replaced, and of a skeleton that has these other chains. */
export const UNUSED = "unused";
export const FOREIGN = "foreign";
const BROKEN = "broken ";

/** The digest of a skeleton that is not as it should be; `strange`: chains that it has besides. */
export function brokenWith(strange: Iterable<string>): string {
  return `${BROKEN}${[...strange].join(",")}`;
}

/** The objects of nftables, for one family: the skeleton, extra chains, VIPs outside the ClusterSet CIDRs, and for each VIP and port the elements of all sets. */
export class NftablesLayout implements Layout<Content, NftablesCommands> {
  readonly base: readonly Part<Content>[] = [{ id: SKELETON, digest: WHOLE, content: undefined }];
  readonly most: number = MOST_UNUSED;
  readonly #options: SkeletonOptions;

  constructor(options: SkeletonOptions) {
    this.#options = options;
  }

  rendering(): Rendering<Content> {
    return {
      parts: (services) => services.flatMap((service) => renderService(this.#options, service)),
    };
  }

  idsOf(service: VirtualService): string[] {
    return idsOf(this.#options, service);
  }

  isSpare(id: string): boolean {
    return chainOfId(id) !== undefined;
  }

  isShared(id: string): boolean {
    return id === SKELETON || this.isSpare(id);
  }

  programmed(held: Held): Programmed {
    return programmed(held, (service) => this.idsOf(service));
  }

  /**
   * First nothing leads to an extra chain any more, then it is deleted: before Linux 6.2 the kernel rejects that until it has freed the element that led
   * there.
   */
  after(id: string, before: string | undefined, part: Part<Content> | undefined) {
    if (part !== undefined) return part.digest;
    return this.isSpare(id) && before === WHOLE ? UNUSED : undefined;
  }

  commands(change: Change<Content>): NftablesCommands {
    return new NftablesCommands(this.#options, change);
  }

  drift(ids: readonly string[], _before: Held, { held: found }: Found): Drift[] {
    const table = `table ${tableOf(this.#options.family)}`;
    if (ids.length === 0) return [];
    if (!found.has(SKELETON)) return [{ reason: "table-missing", what: table }];
    // A table that is replaced hides all else.
    const isForeign = found.get(SKELETON)?.digest === FOREIGN;
    const services = isForeign ? [] : ids.filter(isService);
    return [
      ...(services.length < ids.length ? [{ reason: "table-changed", what: table } as const] : []),
      ...services.map((id) => ({ reason: "elements-changed", what: serviceText(id) }) as const),
    ];
  }
}

function isService(id: string): boolean {
  return id !== SKELETON && chainOfId(id) === undefined && explicitOfId(id) === undefined;
}

function serviceText(key: ServiceKey): string {
  const [address = "", protocol, port] = key.split(" ");
  return `${protocol} ${addressFromHex(address).text} ${port}`;
}

/** Changes that become live together, such as those of one service. */
export type ElementGroup = readonly ElementChange[];

/** A change of chains by nft, and of elements by netlink. Each group of changes is atomic, and so is the change of chains. */
export class NftablesCommands implements Transaction {
  /** Input of nft for chains, which comes first; empty if they stay. */
  readonly skeleton: string;
  readonly groups: readonly ElementGroup[];
  /** Input of nft after which nothing leads to some chains; after the elements, which led there until now. */
  readonly retired: string;
  /** Input of nft that deletes chains without use, after all else: the kernel may reject it. */
  readonly garbage: string;
  /** The IDs of these chains. */
  readonly garbageIds: ReadonlySet<string>;
  readonly #options: SkeletonOptions;

  constructor(options: SkeletonOptions, { puts, deletes: all }: Change<Content>) {
    this.#options = options;
    // What was in a table that is replaced goes with it.
    const deletes = new Map([...all].filter(([, { before }]) => before !== FOREIGN));
    const added = [...puts.keys()].flatMap((id) => chainOfId(id) ?? []);
    const retired = [...deletes].filter(([, { before }]) => before === WHOLE);
    const unused = [...deletes].filter(([, { before }]) => before === UNUSED);
    const skeleton = puts.get(SKELETON);
    const strange = strangeIn(skeleton?.before);
    const chains = new Set([...added, ...strange.flatMap((name) => partNameOf(name) ?? [])]);
    this.skeleton =
      (skeleton?.before === FOREIGN ? replacing(options) : "") +
      (skeleton === undefined
        ? renderExtra(options, added)
        : renderSkeleton(options, chains, strange));
    this.retired = renderRetired(options, chainsOf(retired));
    this.groups = groupsOf({ puts, deletes });
    this.garbageIds = new Set(unused.map(([id]) => id));
    const kept = chainNames(options, chains);
    const gone = [...chainsOf(unused), ...strange].filter((name) => !kept.has(name));
    this.garbage = renderDeleted(options, gone);
  }

  get empty(): boolean {
    return this.groups.length === 0 && `${this.skeleton}${this.retired}${this.garbage}` === "";
  }

  get writes(): number {
    const rules = `${this.skeleton}${this.retired}`
      .split("\n")
      .filter((line) => line.startsWith("add rule "));
    return rules.length + this.#count("add");
  }

  get deletes(): number {
    return this.#count("delete");
  }

  /** As input of nft. */
  toString(): string {
    const { family } = this.#options;
    const elements = this.groups.map((group) => renderGroup(family, group));
    return this.skeleton + elements.join("") + this.retired + this.garbage;
  }

  #count(kind: ElementChange["kind"]): number {
    return this.groups.flat().reduce((sum, one) => {
      if (one.kind !== kind) return sum;
      return sum + (one.kind === "add" ? one.elements.length : one.keys.length);
    }, 0);
  }
}

function chainsOf(some: readonly (readonly [id: string, held: unknown])[]): string[] {
  return some.flatMap(([id]) => chainOfId(id) ?? []);
}

/** The chains that a skeleton of this digest has besides its own. */
function strangeIn(digest = ""): string[] {
  return digest.startsWith(BROKEN) ? digest.slice(BROKEN.length).split(",").filter(Boolean) : [];
}

function replacing({ family }: SkeletonOptions): string {
  return `add table ${tableOf(family)}\ndelete table ${tableOf(family)}\n`;
}

/** VIPs outside the ClusterSet CIDRs come first, and go last: what is addressed to them is ours as long as a service has elements. */
function groupsOf({ puts, deletes }: Change<Content>): ElementGroup[] {
  const vipsOf = (ids: Iterable<string>) => [...ids].flatMap((id) => explicitOfId(id) ?? []);
  const vips = vipsOf(puts.keys()).map((key) => ({ key, value: "", comment: "" }));
  const services = [
    ...[...puts].flatMap(([id, { before, part }]) =>
      isService(id)
        ? [changesOf(id, before === FOREIGN ? undefined : before, part.digest, part.content)]
        : [],
    ),
    ...[...deletes].flatMap(([id, { before }]) => (isService(id) ? [changesOf(id, before)] : [])),
  ];
  const groups = [
    added(SETS.explicit, vips),
    ...services,
    removed(SETS.explicit, vipsOf(deletes.keys())),
  ];
  return groups.filter((group) => group.length > 0);
}

/** Input of nft that makes these changes. PURE. */
export function renderGroup(family: SkeletonOptions["family"], group: ElementGroup): string {
  return group.map((one) => renderChange(tableOf(family), one)).join("");
}

/** The services with objects in the kernel. PURE. */
function programmed(held: Held, idsOf: (service: VirtualService) => readonly string[]): Programmed {
  let holders: ReadonlyMap<string, ObjectKey | undefined> | undefined;
  const services = () => held.entries().filter(([, { isForwarded }]) => isForwarded !== undefined);
  return {
    get size() {
      const found = services()
        .filter(([, { isForwarded }]) => isForwarded === true)
        .map(([id, { importKey }]) => `${importKey} ${id.slice(id.indexOf(" "))}`);
      return new Set(found).size;
    },
    has: (service) => idsOf(service).some((id) => held.get(id)?.isForwarded === true),
    holder: (vip) => {
      holders ??= new Map(
        services().map(([id, { importKey }]) => [id.slice(0, id.indexOf(" ")), importKey]),
      );
      return holders.get(digitsOf([vip])[0] ?? "");
    },
    get destinations() {
      return services().map(([id]) => id);
    },
  };
}
