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
import { NftElements } from "../system/nftables/nft-elements.ts";
import { removeTable } from "../system/nftables/remove-table.ts";
import { ruleComments } from "../system/nftables/rule-comments.ts";
import { execLines } from "../system/run-program.ts";
import type { Evidence, SilentEndpoint, TcpEndpoint, Waiting } from "./evidence.ts";
import {
  ANSWERING_MS,
  HEALTH_SETS,
  HEALTH_TABLE,
  healthComments,
  healthText,
  WAITING_MS,
} from "./health-rules.ts";

/** The comment of a verdict: on the endpoint alone, or on all of its cluster. */
const COMMENT = /^(endpoint of|cluster) (\S*)$/;

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
      const found = await ruleComments(family, HEALTH_TABLE);
      if (isDeepStrictEqual(found, healthComments(options))) continue;
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

  async waiting(): Promise<Waiting[]> {
    const { waiting, repeated } = HEALTH_SETS;
    const read = (set: SetLayout) =>
      this.#list(set, (endpoint, { packets = 0, expires = WAITING_MS }) => ({
        ...{ ...endpoint, syns: packets, age: WAITING_MS - expires },
        areRepeated: set === repeated,
      }));
    return [...(await read(waiting)), ...(await read(repeated))];
  }

  async silent(): Promise<SilentEndpoint[]> {
    return this.#list(HEALTH_SETS.silent, (endpoint, { comment, expires = 0 }) => {
      const [, scope, cluster = ""] = COMMENT.exec(comment) ?? [];
      return { ...endpoint, expires, cluster, isWhole: scope === "cluster" };
    });
  }

  async answering(within: number): Promise<TcpEndpoint[]> {
    const all = await this.#list(HEALTH_SETS.answering, (endpoint, { expires = 0 }) => {
      return { endpoint, age: ANSWERING_MS - expires };
    });
    return all.filter(({ age }) => age < within).map(({ endpoint }) => endpoint);
  }

  async add(endpoints: readonly SilentEndpoint[]): Promise<void> {
    for (const [family, elements] of this.#elements) {
      const added = endpoints.filter((one) => familyOf(one) === family).map(elementOf);
      if (added.length === 0) continue;
      await write(elements, { kind: "add", set: HEALTH_SETS.silent, elements: added });
    }
  }

  async remove(endpoints: readonly TcpEndpoint[]): Promise<void> {
    // An element may be deleted by an answer at any moment, and its deletion fails then: one transaction for each.
    for (const endpoint of endpoints) {
      const elements = this.#elements.get(familyOf(endpoint));
      const keys = [keyOf(endpoint)];
      try {
        if (elements) await write(elements, { kind: "delete", set: HEALTH_SETS.silent, keys });
      } catch (error) {
        const found = await this.silent();
        if (found.some((one) => keyOf(one) === keyOf(endpoint))) throw error;
      }
    }
  }

  async #list<Found>(
    set: SetLayout,
    read: (endpoint: TcpEndpoint, element: Element) => Found,
  ): Promise<Found[]> {
    const all: Found[] = [];
    for (const elements of this.#elements.values()) {
      for (const one of await elements.list(set)) if (one) all.push(read(endpointOf(one), one));
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

function elementOf({ expires, cluster, isWhole, ...endpoint }: SilentEndpoint): Element {
  return {
    ...{ key: keyOf(endpoint), value: "", timeout: Math.ceil(expires) },
    comment: `${isWhole ? "cluster" : "endpoint of"} ${cluster}`,
  };
}

function familyOf({ address }: TcpEndpoint): Family {
  return address.includes(":") ? "IPv6" : "IPv4";
}

function endpointOf({ key }: Element): TcpEndpoint {
  const [address = "", port] = key.split(" ");
  return { address: addressFromHex(address).text, port: Number(port) };
}

function keyOf({ address, port }: TcpEndpoint): string {
  const parsed = parseAddress(address);
  if (!isAddress(parsed)) throw new TypeError(`${address}: ${parsed}`);
  return `${parsed.hex} ${port}`;
}
