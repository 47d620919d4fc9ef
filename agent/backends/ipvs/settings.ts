import type { Family } from "../../../api/address.ts";

/** A switch of the kernel that the backend relies on. */
export interface Setting {
  /** As sysctl names it. */
  readonly name: string;
  readonly value: string;
  /** Other values that are as good, and stay. */
  readonly asGood?: readonly string[];
  /** What goes wrong otherwise. */
  readonly why: string;
  /** True if this kernel may be without, because it does by itself what the switch asks for, or because it came later. */
  readonly optional?: boolean;
}

/** What is set where it is otherwise; all of it belongs to the node's network namespace. */
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
    // 1: a port that is used again is scheduled anew. Before 5.9 that cost a second for each, and 0 was the lesser evil.
    name: "net.ipv4.vs.conn_reuse_mode",
    value: "1",
    asGood: ["0"],
    why: "a client's port that is used again stays with the destination that it had",
    optional: true,
  },
  {
    name: "net.ipv4.conf.all.arp_ignore",
    value: "1",
    asGood: ["2", "8"],
    why: "the node answers its neighbours' ARP requests for VIPs",
  },
  {
    name: "net.ipv4.conf.all.arp_announce",
    value: "2",
    why: "the node asks its neighbours in a VIP's name",
  },
];

/** What must be on for a node to lead connections on, and what preflight tells of. */
export const FORWARDING: Readonly<Record<Family, string>> = {
  IPv4: "net.ipv4.ip_forward",
  IPv6: "net.ipv6.conf.all.forwarding",
};

/** True if the setting is as it should be, or as good. */
export function isRight(
  { value, asGood = [], optional }: Setting,
  now: string | undefined,
): boolean {
  if (now === undefined) return optional === true;
  return now === value || asGood.includes(now);
}
