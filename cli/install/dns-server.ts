/** How the DNS server of a cluster is configured. */
export type DnsKind =
  /** The Corefile in ConfigMap `kube-system/coredns`. */
  | "coredns"
  /** Keys of ConfigMap `kube-system/coredns-custom`, which the Corefile imports: AKS, K3s. */
  | "coredns-custom"
  | "eks"
  | "kube-dns"
  | "openshift"
  | "rke2"
  | "unknown";

/** The DNS server of a cluster, as join finds it before it writes. */
export interface ClusterDns {
  readonly kind: DnsKind;
  /** Image of CoreDNS; absent if there is none. */
  readonly image?: string;
  /** What overwrites changes of the Corefile; absent: nothing that is known. */
  readonly owner?: string;
  /** Our block in the Corefile. */
  readonly block?: "serves" | "forwards";
  /** The addresses of NodeLocal DNSCache, which pods ask first; absent if it does not run. */
  readonly cacheAddresses?: readonly string[];
  /** True: its Corefile has a block for `clusterset.local`. */
  readonly cacheHasZone?: boolean;
  /** True: its configuration names `clusterset.local`, besides our block. */
  readonly hasZone?: boolean;
  /** Image of `deploy/coredns/own`; absent if it does not run. */
  readonly ownImage?: string;
}

/** What serves `clusterset.local`: the cluster's CoreDNS, `deploy/coredns/own`, or nothing that join installs. */
export const DNS_WAYS = ["existing", "own", "none"] as const;
export type DnsWay = (typeof DNS_WAYS)[number];
