import { addressFromHex } from "../../../api/address.ts";
import { type Cidr, contains, isCidr, parseCidr } from "../../../api/cidr.ts";

/** What is known of a kube-proxy on this node. */
export interface KubeProxySight {
  /** What it says at /proxyMode: `iptables`, `ipvs`, `nftables`; absent if it says nothing there. */
  readonly mode?: string;
  /** What it says at /configz; absent if it says nothing there. */
  readonly configz?: string;
  /** True if the device is there that it keeps its VIPs on in ipvs mode; it may have been left behind. */
  readonly device: boolean;
}

/** Where kube-proxy answers, unless its --metrics-bind-address says otherwise. */
export const KUBE_PROXY_PORT = 10249;
/** The device of its ipvs mode. */
export const KUBE_PROXY_DEVICE = "kube-ipvs0";

/**
 * Why we must not write to IPVS beside it, with the line that mends it; undefined if we may. In ipvs mode it deletes each
 * virtual server that it does not know, at every sync, but for those in its excludeCIDRs. `asserted`: what the operator
 * says of these, for where it does not tell. PURE.
 */
export function kubeProxyObjection(
  { mode, configz, device }: KubeProxySight,
  ours: readonly Cidr[],
  asserted: readonly Cidr[],
): string | undefined {
  const isIpvs = mode === undefined ? device : mode.trim() === "ipvs";
  if (!isIpvs) return undefined;
  const told = configz === undefined ? undefined : excludedCidrs(configz);
  const excluded = [...(told ?? []), ...asserted];
  const open = ours.filter((cidr) => !excluded.some((range) => covers(range, cidr)));
  if (open.length === 0) return undefined;
  const line = `ipvs: {excludeCIDRs: [${ours.map(({ text }) => JSON.stringify(text)).join(", ")}]}`;
  const unheard =
    "If it says so already, and does not tell at 127.0.0.1:10249/configz, say so with --kube-proxy-exclude-cidrs.";
  return `kube-proxy on this node is in ipvs mode and deletes virtual servers in ${open.map(({ text }) => text).join(" and ")}. Add to its configuration: ${line}${told === undefined ? `. ${unheard}` : ""}`;
}

/** The ranges that kube-proxy leaves alone, of its page /configz; undefined if it does not tell. PURE. */
export function excludedCidrs(configz: string): Cidr[] | undefined {
  let found: unknown;
  try {
    found = JSON.parse(configz);
  } catch {
    return undefined;
  }
  // Its internal type is shown, without the names that its files have: IPVS.ExcludeCIDRs.
  const list = property(
    property(property(found, "kubeproxy.config.k8s.io"), "ipvs"),
    "excludecidrs",
  );
  if (list === null) return [];
  if (!Array.isArray(list)) return undefined;
  return (list as readonly unknown[]).flatMap((text) => {
    const cidr = typeof text === "string" ? parseCidr(text) : "invalid-cidr";
    return isCidr(cidr) ? [cidr] : [];
  });
}

/** A property by its name in lower case, however it is spelt. */
function property(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.entries(value).find(([key]) => key.toLowerCase() === name)?.[1];
}

function covers(range: Cidr, cidr: Cidr): boolean {
  return range.bits <= cidr.bits && contains(range, addressFromHex(cidr.hex));
}
