import { isDeepStrictEqual } from "node:util";
import { FAMILIES, type Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import { codeOf } from "../../common/errors.ts";
import type { NodeFact } from "../model/facts.ts";
import { listCounters } from "../system/nftables/counters.ts";
import { allRules } from "../system/nftables/listing.ts";
import { removeTable, tableRules } from "../system/nftables/table-rules.ts";
import { execLines } from "../system/run-program.ts";
import { countedMembers } from "./counted-members.ts";
import {
  memberOf,
  TRAFFIC_TABLE,
  type TrafficRulesOptions,
  trafficMarks,
  trafficText,
} from "./traffic-rules.ts";

/** The rules of one family, and by what they are recognised. */
interface Rules {
  readonly options: TrafficRulesOptions;
  readonly marks: ReturnType<typeof trafficMarks>;
}

/** The tables of all families. Needs netlink's native part. */
export class TrafficTable implements MemberCounts {
  readonly #families: readonly Family[];
  readonly #vips: readonly Cidr[];
  /** The node for which rules were rendered last: a hundred clusters may have thousands of ranges. */
  #node: NodeFact | undefined;
  #rules: readonly Rules[] = [];

  /** `vips`: ranges of all VIPs. */
  constructor(families: readonly Family[], vips: readonly Cidr[]) {
    this.#families = families;
    this.#vips = vips;
  }

  async install(node: NodeFact, stop: AbortSignal): Promise<void> {
    if (node !== this.#node)
      this.#rules = this.#families.map((family) => this.#render(node, family));
    this.#node = node;
    for (const rules of this.#rules) await write(rules, stop);
    // An earlier run may have had both families.
    for (const family of FAMILIES)
      if (!this.#families.includes(family)) await removeTable(family, TRAFFIC_TABLE);
  }

  async counts(): Promise<MemberCount[]> {
    const counts: MemberCount[] = [];
    for (const family of this.#families) {
      for (const [name, connections] of await listCounters(family, TRAFFIC_TABLE)) {
        counts.push({ family, member: memberOf(name), connections });
      }
    }
    return counts;
  }

  async uninstall(): Promise<number> {
    let rules = 0;
    for (const family of FAMILIES) rules += await removeTable(family, TRAFFIC_TABLE);
    return rules;
  }

  #render(node: NodeFact, family: Family): Rules {
    const options = { family, vips: this.#vips, counted: countedMembers(node, family) };
    return { options, marks: trafficMarks(options) };
  }
}

/** Other ranges change the rules and leave the counters. A table that cannot be changed, such as that of another release, is replaced. */
async function write({ options, marks }: Rules, stop: AbortSignal): Promise<void> {
  const { family } = options;
  const { comments, hooks } = marks;
  const there = await tableRules(family, TRAFFIC_TABLE, hooks.keys());
  if (isDeepStrictEqual(allRules(there, hooks), comments)) return;
  const found = [...(await listCounters(family, TRAFFIC_TABLE)).keys()];
  const run = (input: string) => execLines(["nft", "-f", "-"], () => undefined, { input, stop });
  try {
    await run(trafficText(options, found));
  } catch (error) {
    if (codeOf(error) !== "CSP_EXEC_FAILED") throw error;
    await run(trafficText(options, undefined));
  }
}

/** New connections to the endpoints of one cluster. */
export interface MemberCount {
  readonly family: Family;
  /** The cluster; undefined for endpoints of no known one. */
  readonly member: string | undefined;
  /** Since the kernel has the table. */
  readonly connections: number;
}

/** Counts connections in the kernel. */
export interface MemberCounts {
  /** Writes the table if it is missing, or not as this node's ranges require. Rejects with a coded error. */
  install(node: NodeFact, stop: AbortSignal): Promise<void>;
  /** None if there is no table. Rejects with a coded error. */
  counts(): Promise<MemberCount[]>;
}

/** Receives whether connections are counted. */
export interface TrafficEvents {
  /** They are not, or the counters cannot be read; undefined: they are again. */
  unavailable(error: unknown): void;
}
