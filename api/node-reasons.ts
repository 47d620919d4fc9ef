/** The part of `REASONS` that is about nodes. */
export const NODE_REASONS = {
  // Checks of the node, on /readyz?verbose; each failure comes with advice.
  "no-route":
    "The node has no route to the ClusterSet CIDR; host processes cannot connect to a VIP.",
  "route-refuses": "A route of type unreachable, blackhole or prohibit covers the ClusterSet CIDR.",
  "vip-on-node": "The node treats addresses of the ClusterSet CIDR as its own.",
  "wrong-source":
    "The route to the ClusterSet CIDR sets a source address that replies cannot reach.",
  "forwarding-off": "The kernel does not forward packets of this IP family.",
  "service-range-overlap": "The ClusterSet CIDR overlaps a Service range of the cluster.",
  "pods-bypass": "Packets from pods of this node to a ClusterSetIP bypass the rules.",
  "bypass-suspected":
    "A detected network plugin may route packets of pods around the rules; no connection of a pod has proven otherwise yet.",
  "bridge-unfiltered":
    "Pods on one bridge answer each other past netfilter: one that calls a VIP gets no answer from an endpoint on its bridge.",
  "invalid-accepted":
    "Nothing is known to drop TCP segments that connection tracking calls INVALID; such a segment of an endpoint ends its client's connection.",
  "ipvs-unusable": "The agent may use IPVS, but the node lacks a prerequisite: iptables is used.",
  "nftables-unusable":
    "The agent may use nftables, but nft or the kernel rejects its rules: iptables is used.",
  "extension-missing": "The kernel or iptables lacks an extension that the rules use.",
  "tool-missing": "A program that the agent needs to write rules is not installed.",
  "tool-old":
    "The version of a program that writes rules loses or rejects some of the agent's rules.",
  "node-contradicts-flag":
    "An address or pod range of the node contradicts a flag: the last known state of the node is in use.",
  "lock-not-shared":
    "A lock file is private to the container: programs outside of it do not use the same lock.",
  "conntrack-full": "More than 90 % of the connection tracking table is in use.",
  "not-tested": "The check could not run, or has nothing to test yet.",
  blind:
    "Probes of the node do not reach a cluster's endpoints: silent endpoints there are detected by clients alone. In preflight, these endpoints may be dead; otherwise they answer clients.",
  uplink: "No other cluster answers the node: its own uplink may be at fault.",
  "not-counted":
    "The kernel does not count connections by cluster, or its counters cannot be read; connections are forwarded as planned.",

  // The startup taint of a node (docs/design/0048-startup-taint.md).
  "agent-ready": "The agent of the node is ready: the controller removes the startup taint.",
  "agent-awaited": "The node has the startup taint, and its agent is not ready yet.",
  "agent-late":
    "The node has had the startup taint for more than a minute, because its agent is not ready.",
  "agent-overdue":
    "The agent of the node is not ready after --startup-taint-timeout: the controller removes the startup taint all the same.",
  "node-restarted":
    "The node has restarted, and its agent is not ready yet: the controller adds the startup taint.",
  "node-in-use":
    "The node has no startup taint, and its pods may be in use: the controller adds none.",
} as const;
