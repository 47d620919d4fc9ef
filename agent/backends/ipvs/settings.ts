/** A switch of the kernel that the backend relies on. */
export interface Setting {
  /** As sysctl names it. */
  readonly name: string;
  readonly value: string;
  /** Other values that are as good on a kernel of this release, and stay. */
  readonly asGood?: (release: Release) => readonly string[];
  /** What goes wrong otherwise. */
  readonly why: string;
  /** True if this kernel may be without, because it does by itself what the switch asks for, or because it came later. */
  readonly optional?: boolean;
}

/** Major and minor number of a kernel. */
export type Release = readonly [number, number];

/** A kernel of which nothing else is known. */
const NEWEST: Release = [999, 0];

/** What is set where it is otherwise; all of it belongs to IPVS in the node's network namespace. */
export const SETTINGS: readonly Setting[] = [
  {
    name: "net.ipv4.vs.conntrack",
    value: "1",
    why: "connection tracking knows nothing of what IPVS leads on, so nothing can be masqueraded or judged",
  },
  {
    name: "net.ipv4.vs.expire_nodest_conn",
    value: "1",
    why: "connections to a destination that is gone hang, and a SYN stays with one that is drained",
  },
  {
    name: "net.ipv4.vs.expire_quiescent_template",
    value: "1",
    why: "affinity leads a client to a destination that is drained",
  },
  {
    name: "net.ipv4.vs.conn_reuse_mode",
    value: "1",
    asGood: reuseAsGood,
    why: "a client's port that is used again stays with the destination that it had, drained or not",
    optional: true,
  },
];

/**
 * Values of conn_reuse_mode that are as good as 1: a port that is used again is scheduled anew. Bit 2 asks for more of the
 * same (Documentation/networking/ipvs-sysctl.rst). With 0, the port stays with its destination: below 5.9 the lesser evil,
 * because 1 costs a second for each reuse there (f0a5e4d7a594), which is why kube-proxy sets it; from 5.16 on the kernel
 * looks with 0, too, whether the destination is drained (c95c07836fa4); between, nothing speaks for it.
 */
function reuseAsGood([major, minor]: Release): readonly string[] {
  const at = major * 1000 + minor;
  return at < 5009 || at >= 5016 ? ["0", "2", "3"] : ["2", "3"];
}

/** The numbers of `uname -r`: `6.1.0-56-cloud-amd64`; what is no release counts as the newest. PURE. */
export function releaseOf(text: string | undefined): Release {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(text ?? "") ?? [];
  return major === undefined ? NEWEST : [Number(major), Number(minor)];
}

/** True if the setting is as it should be, or as good. PURE. */
export function isRight(
  { value, asGood, optional }: Setting,
  now: string | undefined,
  release: Release = NEWEST,
): boolean {
  if (now === undefined) return optional === true;
  return now === value || (asGood?.(release).includes(now) ?? false);
}
