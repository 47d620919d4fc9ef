import type { Family } from "../../../api/address.ts";
import { isCidr, parseCidr } from "../../../api/cidr.ts";
import { codeOf } from "../../../common/errors.ts";
import { execLines } from "../../system/run-program.ts";
import { renderSkeleton } from "./skeleton-text.ts";

/** A range for documentation of each family (RFC 5737, RFC 3849). */
const RANGE = { IPv4: "192.0.2.0/24", IPv6: "2001:db8::/32" } as const;

/** What nft and the kernel of this node can do with our rules. */
export interface Support {
  /** Why they reject the skeleton; undefined if they accept it. */
  readonly rejects: string | undefined;
  /** True if they accept the chains for ClientIP affinity, and those that remember clients (`SkeletonOptions.remembers`). */
  readonly affinity: boolean;
  readonly remembers: boolean;
}

/** Tries the skeleton, without leaving anything behind. Never rejects. */
export async function supportOf(family: Family, stop?: AbortSignal): Promise<Support> {
  const rejects = await trial({ family, remembers: false }, [], stop);
  const sticky = async (remembers: boolean) =>
    (await trial({ family, remembers }, ["hash-1", "sticky-1"], stop)) === undefined;
  const affinity = rejects === undefined && (await sticky(false));
  return { rejects, affinity, remembers: affinity && (await sticky(true)) };
}

/** The message of nft; undefined if it accepts the table with these extra chains. */
async function trial(
  { family, remembers }: { readonly family: Family; readonly remembers: boolean },
  extra: readonly string[],
  stop: AbortSignal | undefined,
): Promise<string | undefined> {
  const range = parseCidr(RANGE[family]);
  if (!isCidr(range)) throw new TypeError(RANGE[family]);
  const skeleton = { family, clusterSetCidrs: [range], masquerade: NONE, remembers };
  const text = renderSkeleton(skeleton, extra);
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
