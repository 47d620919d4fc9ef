import { addressFromHex } from "../../../api/address.ts";
import { type Cidr, contains, isCidr, parseCidr } from "../../../api/cidr.ts";
import { isFields } from "../../../api/parse/fields.ts";
import { jsonOf } from "../../../api/parse/json-text.ts";

/** What a kube-proxy on this node reports about itself. */
export interface KubeProxyReport {
  /** The page /proxyMode: `iptables`, `ipvs`, `nftables`; absent if it does not respond. */
  readonly mode?: string;
  /** The page /configz; absent if it does not respond. */
  readonly configz?: string;
  /** True if the device for its VIPs in ipvs mode exists; an earlier kube-proxy may have left it. */
  readonly device: boolean;
}

/** The port of kube-proxy's pages, unless its --metrics-bind-address is set. */
export const KUBE_PROXY_PORT = 10249;
/** The device of its ipvs mode. */
export const KUBE_PROXY_DEVICE = "kube-ipvs0";

/**
 * Why the agent must not write to IPVS beside this kube-proxy, with the configuration line that fixes it; undefined if it may. In
 * ipvs mode, kube-proxy deletes foreign virtual servers at every sync, except in its excludeCIDRs. `asserted`: the excludeCIDRs
 * according to a flag, in case /configz does not respond. PURE.
 */
export function kubeProxyObjection(
  { mode, configz, device }: KubeProxyReport,
  ours: readonly Cidr[],
  asserted: readonly Cidr[],
): string | undefined {
  const isIpvs = mode === undefined ? device : mode.trim() === "ipvs";
  if (!isIpvs) return undefined;
  const reported = configz === undefined ? undefined : excludedCidrs(configz);
  const excluded = [...(reported ?? []), ...asserted];
  const open = ours.filter((cidr) => !excluded.some((range) => covers(range, cidr)));
  if (open.length === 0) return undefined;
  const line = `ipvs: {excludeCIDRs: [${ours.map(({ text }) => JSON.stringify(text)).join(", ")}]}`;
  const unreported =
    ". If it has this line, and 127.0.0.1:10249/configz does not answer, set --kube-proxy-exclude-cidrs.";
  return `kube-proxy on this node is in ipvs mode and deletes virtual servers in ${open.map(({ text }) => text).join(" and ")}. Add to its configuration: ${line}${reported === undefined ? unreported : ""}`;
}

/** The excludeCIDRs on the page /configz; undefined if it does not have them. PURE. */
export function excludedCidrs(configz: string): Cidr[] | undefined {
  // The page uses the names of the internal type, not those of configuration files: IPVS.ExcludeCIDRs.
  const list = property(
    property(property(jsonOf(configz), "kubeproxy.config.k8s.io"), "ipvs"),
    "excludecidrs",
  );
  if (list === null) return [];
  if (!Array.isArray(list)) return undefined;
  return (list as readonly unknown[]).flatMap((text) => {
    const cidr = typeof text === "string" ? parseCidr(text) : "invalid-cidr";
    return isCidr(cidr) ? [cidr] : [];
  });
}

/** The property with this name, in any case; `name` is in lower case. */
function property(value: unknown, name: string): unknown {
  if (!isFields(value)) return undefined;
  return Object.entries(value).find(([key]) => key.toLowerCase() === name)?.[1];
}

function covers(range: Cidr, cidr: Cidr): boolean {
  return range.bits <= cidr.bits && contains(range, addressFromHex(cidr.hex));
}
