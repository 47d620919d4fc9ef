import { forwardBlock } from "./dns.ts";
import type { ClusterDns, DnsKind } from "./dns-server.ts";

/** The name of the zone. */
const ZONE = "clusterset.local";

/** What a user adds to a DNS server, so that it forwards the zone. */
export interface StubDomain {
  /** A sentence: the place. */
  readonly where: string;
  /** As it is written there. */
  readonly lines: string;
}

/** The stub domain of each kind of DNS server, for the address of `deploy/coredns/own`. PURE. */
const STUB_DOMAINS: Readonly<Record<DnsKind, (address: string) => StubDomain>> = {
  coredns: (address) => ({
    where:
      "Add this block to the Corefile, in ConfigMap kube-system/coredns or where your tool has it:",
    lines: blockText(address),
  }),
  "coredns-custom": (address) => ({
    where: "Add this key to ConfigMap kube-system/coredns-custom, and restart CoreDNS:",
    lines: `data:\n  clusterset.server: |\n${indented(blockText(address), 4)}`,
  }),
  eks: (address) => ({
    where:
      "Add this block at the end of `corefile` in the configuration values of the add-on coredns, after what the Corefile has:",
    lines: blockText(address),
  }),
  "kube-dns": (address) => ({
    where:
      "Add this key to ConfigMap kube-system/kube-dns, or the zone to the stubDomains that are there:",
    lines: `data:\n  stubDomains: |\n    {"${ZONE}": ["${address}"]}`,
  }),
  openshift: (address) => ({
    where: "Add this server to the DNS operator with `oc edit dns.operator/default`:",
    lines: [
      "spec:",
      "  servers:",
      "    - name: clusterset",
      `      zones: [${ZONE}]`,
      "      forwardPlugin:",
      `        upstreams: ["${address}"]`,
    ].join("\n"),
  }),
  rke2: (address) => ({
    where:
      "Add the last server to HelmChartConfig kube-system/rke2-coredns. A list of servers replaces the chart's, so the first one has to be as your Corefile has it:",
    lines: rke2Values(address),
  }),
  unknown: (address) => ({
    where: "Let the cluster's DNS server forward this zone to this address:",
    lines: `${ZONE} ${address}`,
  }),
};

/** What a user adds to the DNS server of this kind. PURE. */
export function stubDomain(kind: DnsKind, address: string): StubDomain {
  return STUB_DOMAINS[kind](address);
}

/** What a user adds to NodeLocal DNSCache, which sends only the cluster's own names to the DNS server. PURE. */
export function cacheStubDomain(
  { cacheAddresses = [] }: Pick<ClusterDns, "cacheAddresses">,
  address: string,
): StubDomain {
  const bind = cacheAddresses.length === 0 ? "" : `    bind ${cacheAddresses.join(" ")}\n`;
  return {
    where:
      "Pods ask NodeLocal DNSCache first: add this block to ConfigMap kube-system/node-local-dns, and restart its pods:",
    lines: blockText(address).replace("    errors\n", `    errors\n${bind}`),
  };
}

/** The block without the lines by which join finds its own one. */
function blockText(address: string): string {
  return forwardBlock(address).split("\n").slice(1, -1).join("\n");
}

/** The first server is the default of RKE2's chart. */
function rke2Values(address: string): string {
  return `apiVersion: helm.cattle.io/v1
kind: HelmChartConfig
metadata: { namespace: kube-system, name: rke2-coredns }
spec:
  valuesContent: |-
    servers:
      - zones: [{ zone: . }]
        port: 53
        plugins:
          - { name: errors }
          - { name: health, configBlock: "lameduck 10s" }
          - { name: ready }
          - name: kubernetes
            parameters: cluster.local in-addr.arpa ip6.arpa
            configBlock: |-
              pods insecure
              fallthrough in-addr.arpa ip6.arpa
              ttl 30
          - { name: prometheus, parameters: "0.0.0.0:9153" }
          - { name: forward, parameters: . /etc/resolv.conf }
          - { name: cache, parameters: 30 }
          - { name: loop }
          - { name: reload }
          - { name: loadbalance }
      - zones: [{ zone: ${ZONE} }]
        port: 53
        plugins:
          - { name: errors }
          - { name: cache, parameters: 5 }
          - { name: forward, parameters: . ${address} }`;
}

function indented(text: string, spaces: number): string {
  return text.replaceAll(/^/gm, " ".repeat(spaces));
}
