import { isDeepStrictEqual } from "node:util";
import {
  addressFromHex,
  FAMILIES,
  type Family,
  isAddress,
  parseAddress,
} from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import { CodedError } from "../../common/errors.ts";
import type { Element, ElementChange, SetLayout } from "../system/nftables/element.ts";
import { allRules } from "../system/nftables/listing.ts";
import { MissingElement, NftElements } from "../system/nftables/nft-elements.ts";
import { removeTable, tableRules } from "../system/nftables/table-rules.ts";
import { execLines } from "../system/run-program.ts";
import type { Answered, Evidence, Overdue, SilentEndpoint, TcpEndpoint } from "./evidence.ts";
import {
  ACCEPTED_MS,
  HEALTH_SETS,
  HEALTH_TABLE,
  healthMarks,
  healthText,
  WAITING_MS,
} from "./health-rules.ts";
import { endpointName } from "./verdict.ts";

/** Milliseconds by which the clocks of two sets may differ: they are read one after the other. */
const SKEW_MS = 250;

/** The comment of an element: what was found silent, `endpoint of c2`, `group shop/web c2 IPv4 8080` or `cluster c2`, and the words that hold. */
const COMMENT =
  /^(?:endpoint of (?<of>\S*)|group (?<group>\S+ (?<cluster>\S*) \S+ \d+)|cluster (?<whole>\S*))(?<words>(?: \w+)*)$/;
/** Words of comments. An earlier release writes none. */
const WORD = {
  suspected: "suspected",
  partial: "partial",
  trial: "trial",
  expired: "expired",
} as const;

/** The tables of all families. Needs netlink's native part: a program for each look would take a hundred times as long. */
export class HealthTable implements Evidence {
  readonly #ranges: readonly Cidr[];
  readonly #elements: ReadonlyMap<Family, NftElements>;

  /** `ranges`: of all VIPs. */
  constructor(families: readonly Family[], ranges: readonly Cidr[]) {
    this.#ranges = ranges;
    this.#elements = new Map(
      families.map((family) => [family, new NftElements(family, HEALTH_TABLE)]),
    );
  }

  async install(stop: AbortSignal): Promise<boolean> {
    let isNew = false;
    for (const family of this.#elements.keys()) {
      const options = { family, ranges: this.#ranges };
      const { comments, hooks } = healthMarks(options);
      const found = await tableRules(family, HEALTH_TABLE, hooks.keys());
      if (isDeepStrictEqual(allRules(found, hooks), comments)) continue;
      await execLines(["nft", "-f", "-"], () => undefined, { input: healthText(options), stop });
      isNew = true;
    }
    // An earlier run may have had both families.
    for (const family of FAMILIES)
      if (!this.#elements.has(family)) await removeTable(family, HEALTH_TABLE);
    return isNew;
  }

  async uninstall(): Promise<number> {
    let rules = 0;
    for (const family of FAMILIES) rules += await removeTable(family, HEALTH_TABLE);
    return rules;
  }

  async overdue(): Promise<Overdue[] | undefined> {
    const { waiting, repeated, callers } = HEALTH_SETS;
    let isMissing = false;
    const read = (set: SetLayout) =>
      this.#list(
        set,
        ({ endpoint }, { packets = 0, expires = WAITING_MS }) => {
          return { endpoint, syns: packets, age: WAITING_MS - expires };
        },
        () => {
          isMissing = true;
        },
      );
    const first = await read(waiting);
    const again = await read(repeated);
    if (isMissing) return undefined;
    if (first.length + again.length === 0) return [];
    const clients = await this.#list(callers, (found, { expires = WAITING_MS }) => {
      return { ...found, age: WAITING_MS - expires };
    });
    const byEndpoint = Map.groupBy(clients, ({ endpoint }) => endpointName(endpoint));
    const all = new Map<string, Overdue>();
    for (const { endpoint, syns, age } of first) {
      const found = { syns, repeats: 0, age, repeatedAge: 0, clients: [] };
      all.set(endpointName(endpoint), { ...endpoint, ...found });
    }
    for (const { endpoint, syns, age } of again) {
      const known = all.get(endpointName(endpoint));
      const found = { syns: known?.syns ?? 0, repeats: syns, age: Math.max(age, known?.age ?? 0) };
      all.set(endpointName(endpoint), { ...endpoint, ...found, repeatedAge: age, clients: [] });
    }
    return [...all].map(([name, one]) => {
      // An older SYN was sent before the endpoint's last answer.
      const since = (byEndpoint.get(name) ?? []).filter(({ age }) => age <= one.age + SKEW_MS);
      return { ...one, clients: since.map(({ client }) => client) };
    });
  }

  async answered(): Promise<Answered[]> {
    return this.#list(HEALTH_SETS.accepted, ({ endpoint, client }, { expires = 0 }) => {
      return { ...endpoint, client, age: ACCEPTED_MS - expires };
    });
  }

  async silent(): Promise<SilentEndpoint[]> {
    return this.#list(HEALTH_SETS.silent, ({ endpoint }, { comment, expires = 0 }) => {
      return { ...endpoint, expires, ...verdictOf(comment) };
    });
  }

  async add(endpoints: readonly SilentEndpoint[]): Promise<void> {
    for (const [family, elements] of this.#elements) {
      const added = endpoints.filter((one) => familyOf(one) === family).map(elementOf);
      if (added.length === 0) continue;
      await write(elements, { kind: "add", set: HEALTH_SETS.silent, elements: added });
    }
  }

  async forget(endpoints: readonly TcpEndpoint[]): Promise<void> {
    for (const set of [HEALTH_SETS.waiting, HEALTH_SETS.repeated])
      for (const endpoint of endpoints) await this.#delete(set, endpoint);
  }

  async remove(endpoints: readonly TcpEndpoint[]): Promise<void> {
    if (endpoints.length === 0) return;
    for (const one of await this.#present(endpoints)) await this.#delete(HEALTH_SETS.silent, one);
  }

  async take<One extends TcpEndpoint>(endpoints: readonly One[]): Promise<One[]> {
    const taken: One[] = [];
    for (const [family, elements] of this.#elements) {
      const all = endpoints.filter((one) => familyOf(one) === family);
      if (all.length === 0) continue;
      try {
        await write(elements, { kind: "delete", set: HEALTH_SETS.silent, keys: all.map(keyOf) });
        taken.push(...all);
      } catch {
        // One has answered meanwhile, so that the transaction deleted none. Another fault appears here again.
        const present = await this.#present(all);
        for (const one of present) await this.#delete(HEALTH_SETS.silent, one);
        taken.push(...present);
      }
    }
    return taken;
  }

  /** Those of these endpoints that have an element. */
  async #present<One extends TcpEndpoint>(endpoints: readonly One[]): Promise<One[]> {
    const found = new Set((await this.silent()).map(endpointName));
    return endpoints.filter((one) => found.has(endpointName(one)));
  }

  /** An answer may delete an element at any moment, and its deletion fails then: one transaction for each. */
  async #delete(set: SetLayout, endpoint: TcpEndpoint): Promise<void> {
    const elements = this.#elements.get(familyOf(endpoint));
    try {
      if (elements) await write(elements, { kind: "delete", set, keys: [keyOf(endpoint)] });
    } catch (error) {
      // There may be another one by now, of the next SYN.
      if (!(error instanceof MissingElement)) throw error;
    }
  }

  /** `missing` is called if a family lacks the set. */
  async #list<Found>(
    set: SetLayout,
    read: (key: Key, element: Element) => Found,
    missing: () => void = () => undefined,
  ): Promise<Found[]> {
    const all: Found[] = [];
    for (const elements of this.#elements.values()) {
      const found = await elements.list(set);
      if (found === undefined) missing();
      for (const one of found ?? []) if (one) all.push(read(keyFieldsOf(one), one));
    }
    return all;
  }
}

/** A transaction of one change. */
async function write(elements: NftElements, change: ElementChange): Promise<void> {
  await elements.run([[change]], async () => {
    throw new CodedError("CSP_NETLINK_FAILED", `nftables: ${HEALTH_TABLE}: too many elements`);
  });
}

function elementOf(one: SilentEndpoint): Element {
  return {
    ...{ key: keyOf(one), value: "", timeout: Math.ceil(one.expires) },
    comment: commentOf(one),
  };
}

/** What a comment says. */
type Kept = Omit<SilentEndpoint, "expires" | keyof TcpEndpoint>;

function commentOf(one: Kept): string {
  const { cluster, group, scope, isShown, isPartial, isTrial, isExpired } = one;
  const subject = { endpoint: `endpoint of ${cluster}`, group: `group ${group}` };
  const words = [
    ...(isShown ? [] : [WORD.suspected]),
    ...(isPartial ? [WORD.partial] : []),
    ...(isTrial ? [WORD.trial] : []),
    ...(isExpired ? [WORD.expired] : []),
  ];
  return [scope === "cluster" ? `cluster ${cluster}` : subject[scope], ...words].join(" ");
}

/** Of another comment: an endpoint of an unknown cluster. */
function verdictOf(comment: string): Kept {
  const { of = "", group = "", cluster, whole, words = "" } = COMMENT.exec(comment)?.groups ?? {};
  const all = new Set(words.split(" "));
  const scope = whole !== undefined ? "cluster" : group === "" ? "endpoint" : "group";
  return {
    ...{ cluster: whole ?? cluster ?? of, scope, group, isShown: !all.has(WORD.suspected) },
    ...{ isPartial: all.has(WORD.partial), isTrial: all.has(WORD.trial) },
    isExpired: all.has(WORD.expired),
  };
}

function familyOf({ address }: TcpEndpoint): Family {
  return address.includes(":") ? "IPv6" : "IPv4";
}

/** The fields of a key. */
interface Key {
  readonly endpoint: TcpEndpoint;
  /** Empty in a set without clients. */
  readonly client: string;
}

function keyFieldsOf({ key }: Element): Key {
  const [address = "", port, client] = key.split(" ");
  return {
    endpoint: { address: addressFromHex(address).text, port: Number(port) },
    client: client === undefined ? "" : addressFromHex(client).text,
  };
}

function keyOf({ address, port }: TcpEndpoint): string {
  const parsed = parseAddress(address);
  if (!isAddress(parsed)) throw new TypeError(`${address}: ${parsed}`);
  return `${parsed.hex} ${port}`;
}
