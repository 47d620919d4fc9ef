/** A sysctl that the backend relies on. */
export interface Setting {
  /** As in sysctl(8). */
  readonly name: string;
  readonly value: string;
  /** Other values that work on a kernel of this release, and are left as they are. */
  readonly asGood?: (release: Release) => readonly string[];
  /** What does not work otherwise. */
  readonly why: string;
  /** True if a kernel without this sysctl is fine: it behaves so anyway, or is older. */
  readonly optional?: boolean;
}

/** Major and minor number of a kernel. */
export type Release = readonly [number, number];

/** An unknown release. */
const NEWEST: Release = [999, 0];

/** The sysctls that the agent sets. All of them are IPVS's, in the node's network namespace. */
export const SETTINGS: readonly Setting[] = [
  {
    name: "net.ipv4.vs.conntrack",
    value: "1",
    why: "connections that IPVS forwards are not in connection tracking, so they cannot be masqueraded or cleaned up",
  },
  {
    name: "net.ipv4.vs.expire_nodest_conn",
    value: "1",
    why: "connections to a deleted destination hang, and a SYN of a known connection goes to a draining destination",
  },
  {
    name: "net.ipv4.vs.expire_quiescent_template",
    value: "1",
    why: "affinity sends a client to a draining destination",
  },
  {
    name: "net.ipv4.vs.conn_reuse_mode",
    value: "1",
    asGood: reuseAsGood,
    why: "a new connection from a reused client port goes to the destination of the old one, also if that is draining",
    optional: true,
  },
];

/**
 * Values of conn_reuse_mode that work as well as 1, which schedules a reused port anew; bit 2 does so in more cases
 * (Documentation/networking/ipvs-sysctl.rst). 0 keeps the port's destination, but from 5.16 on no draining one (c95c07836fa4).
 * Older kernels that need 0 lack nftables that the backend needs, too (before 5.9, f0a5e4d7a594).
 */
function reuseAsGood([major, minor]: Release): readonly string[] {
  return major * 1000 + minor >= 5016 ? ["0", "2", "3"] : ["2", "3"];
}

/** The numbers of `uname -r`: `6.1.0-56-cloud-amd64`; anything else counts as the newest. PURE. */
export function releaseOf(text: string | undefined): Release {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(text ?? "") ?? [];
  return major === undefined ? NEWEST : [Number(major), Number(minor)];
}

/** True if the sysctl has the desired value, or one that works as well. PURE. */
export function isRight(
  { value, asGood, optional }: Setting,
  now: string | undefined,
  release: Release = NEWEST,
): boolean {
  if (now === undefined) return optional === true;
  return now === value || (asGood?.(release).includes(now) ?? false);
}
