import { addressFromHex, FAMILIES, type Family } from "../../../api/address.ts";
import { familiesIn, isCidr, parseCidr } from "../../../api/cidr.ts";
import { codeOf } from "../../../common/errors.ts";
import {
  destination,
  digitsOf,
  serviceKey,
  type VirtualService,
} from "../../plan/virtual-service.ts";
import { NftCommits } from "../../system/nft-commits.ts";
import { listTable } from "../../system/nft-table.ts";
import type { Element } from "../../system/nftables/element.ts";
import { NftElements } from "../../system/nftables/nft-elements.ts";
import { parseElement } from "../../system/nftables/text.ts";
import { execLines } from "../../system/run-program.ts";
import { type HeldPort, UNLIMITED } from "../backend.ts";
import type { BackendConfig, BackendKind, ReadyBackend } from "../backend-kind.ts";
import type { Requirements } from "../requirements.ts";
import { splitKey } from "./elements.ts";
import { Nftables } from "./kernel.ts";
import { SETS, type SkeletonOptions, TABLE, tableOf } from "./sets.ts";
import { renderSkeleton } from "./skeleton-text.ts";

/** A range for documentation of each family (RFC 5737, RFC 3849). */
const RANGE = { IPv4: "192.0.2.0/24", IPv6: "2001:db8::/32" } as const;

type Affinity = SkeletonOptions["affinity"];

/** What nft and the kernel of this node can do with our rules. */
interface Support {
  /** Why they reject the skeleton; undefined if they accept it. */
  readonly rejects: string | undefined;
  /** The best way of ClientIP affinity that they accept. */
  readonly affinity: Affinity;
}

/** Tries the skeleton, without leaving anything behind. Never rejects. */
async function supportOf(family: Family, stop?: AbortSignal): Promise<Support> {
  const ways = ["remembered", "hashed"] as const;
  for (const affinity of ways)
    if ((await trial(family, affinity, stop)) === undefined)
      return { rejects: undefined, affinity };
  return { rejects: await trial(family, "unsupported", stop), affinity: "unsupported" };
}

/** The message of nft; undefined if it accepts the table. */
async function trial(
  family: Family,
  affinity: Affinity,
  stop: AbortSignal | undefined,
): Promise<string | undefined> {
  const range = parseCidr(RANGE[family]);
  if (!isCidr(range)) throw new TypeError(RANGE[family]);
  const skeleton = { family, clusterSetCidrs: [range], masquerade: NONE, affinity };
  const text = renderSkeleton(skeleton, []);
  // Another name: an existing table may have sets of another release.
  const input = text.replaceAll("clusterset-proxy", "clusterset-trial");
  try {
    await execLines(["nft", "-c", "-f", "-"], () => undefined, { input, stop });
    return undefined;
  } catch (error) {
    if (codeOf(error) === "CSP_EXEC_MISSING") return "nft is not installed";
    const [first = ""] = String(error).split("\n", 1);
    return first.endsWith(CRASHED) ? `${first} (${NEWER})` : first;
  }
}

/** How nft 1.0.6 ends when it reads a set of any table that nft 1.1 wrote (kubernetes/kubernetes#136786). */
const CRASHED = "SIGSEGV";
const NEWER =
  "nft crashed, as nft 1.0 does if a newer nft wrote a set on this node: use an nft that is as new, or --backend iptables";

const NONE = { mode: "none", podCidrs: [] } as const;

/** The nftables backend. */
export const nftables: BackendKind = {
  prepare: async (config, _log, stop) => {
    const supports = new Map<Family, Support>();
    const lacks: string[] = [];
    for (const family of familiesIn(config.clusterSetCidrs)) {
      const support = await supportOf(family, stop);
      supports.set(family, support);
      if (support.rejects === undefined) continue;
      const why = `${family}: nft or the kernel rejects the rules`;
      lacks.push(`${why}, which need Linux 5.13 and nft 1.0.1: ${support.rejects}`);
    }
    if (stop.aborted) return undefined;
    if (lacks.length === 0) return ready(config, supports);
    return { reason: "nftables-unusable", lacks, usedBefore: false };
  },

  assume: (config) => ready(config, new Map()),

  leftovers: ({ stop }) =>
    FAMILIES.map((family) => ({ variant: {}, family, remove: () => removeOwn(family, stop) })),
};

function ready(
  { masquerade: mode, podCidrs }: BackendConfig,
  supports: ReadonlyMap<Family, Support>,
): ReadyBackend {
  const commits = new NftCommits();
  return {
    variant: {},
    requirements: REQUIREMENTS,
    open: (family, clusterSetCidrs, options) => {
      const affinity = supports.get(family)?.affinity ?? "remembered";
      const skeleton = { family, clusterSetCidrs, masquerade: { mode, podCidrs }, affinity };
      return {
        dataplane: new Nftables({ ...skeleton, ...options, commits }),
        reader: { held: (services, stop) => readHeld(family, services, stop) },
      };
    },
    limits: async (family) => ({
      ...UNLIMITED,
      affinity: supports.get(family)?.affinity !== "unsupported",
    }),
    watch: () => () => undefined,
  };
}

/** What the rules require of a node. nft before 1.0.1 reads all tables of the node. */
const REQUIREMENTS: Requirements = {
  tools: () => [
    { program: "nft", query: ["nft", "-v"], oldest: [1, 0, 1], install: "Install nftables" },
  ],
  lockFiles: [],
  needsRoute: true,
};

/**
 * Deletes the table of one family in one transaction, and returns the number of its rules: 0 the second time. Rejects as `listTable` and
 * `execLines` do. `stop` ends the reading, so that nothing is deleted.
 */
async function removeOwn(family: Family, stop?: AbortSignal): Promise<number> {
  const table = tableOf(family);
  try {
    const found = await listTable(table, true, stop);
    if (found === undefined || stop?.aborted) return 0;
    await execLines(["nft", "delete", "table", ...table.split(" ")], () => undefined);
    return Math.max(1, found.rules.length);
  } catch (error) {
    // A tool that is not installed has written nothing.
    if (codeOf(error) === "CSP_EXEC_MISSING") return 0;
    throw error;
  }
}

/** What the kernel holds for these services. Rejects as `listTable` and `NftElements.list` do. */
async function readHeld(
  family: Family,
  services: readonly VirtualService[],
  stop?: AbortSignal,
): Promise<HeldPort[]> {
  if (services.length === 0) return [];
  try {
    const elements = new NftElements(family, TABLE);
    const heads = (await elements.list(SETS.services)) ?? [];
    return heldPorts(services, heads, (await elements.list(SETS.endpoints)) ?? []);
  } catch (error) {
    if (codeOf(error) !== "CSP_NETLINK_UNAVAILABLE") throw error;
    const table = await listTable(tableOf(family), false, stop);
    const parse = (set: "services" | "endpoints") =>
      (table?.sets.get(set) ?? []).map((one) => parseElement(SETS[set], one));
    return heldPorts(services, parse("services"), parse("endpoints"));
  }
}

/** What these elements of `services` and `endpoints` are for some services. PURE. */
function heldPorts(
  wanted: readonly VirtualService[],
  services: Iterable<Element | undefined>,
  endpoints: Iterable<Element | undefined>,
): HeldPort[] {
  const places = new Map(
    wanted.flatMap(({ vips, protocol, port }) =>
      digitsOf(vips).map((address) => {
        const place = { vip: addressFromHex(address).text, protocol, port };
        return [serviceKey({ address, protocol, port }), place] as const;
      }),
    ),
  );
  const slots = new Map<string, number>();
  for (const one of services) if (one && places.has(one.key)) slots.set(one.key, Number(one.value));
  const found = new Map<string, Set<string>>();
  for (const one of endpoints) {
    const [key] = splitKey(one?.key ?? "");
    if (one === undefined || !slots.has(key)) continue;
    const [address = "", port = ""] = one.value.split(" ");
    const text = destination(addressFromHex(address).text, Number(port));
    found.set(key, (found.get(key) ?? new Set()).add(text));
  }
  return [...slots].flatMap(([key, count]) => {
    const place = places.get(key);
    const destinations = count === 0 ? [] : [...(found.get(key) ?? [])].sort();
    return place === undefined ? [] : [{ ...place, destinations }];
  });
}
