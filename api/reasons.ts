import { NODE_REASONS } from "./node-reasons.ts";

/**
 * Every reason of a decision of clusterset-proxy, with its explanation. The word is the interface: logs, metrics,
 * `/plan`, conditions and tests show it. docs/REASONS.md is generated from this table.
 */
export const REASONS = {
  // An import as a whole.
  programmed: "The import has a VIP and ports, and its traffic goes to the endpoints of the plan.",
  "no-vip": "The import has no spec.ips yet; no rules are programmed for it.",
  "no-port": "The import has no usable port; no rules are programmed for it.",
  headless: "The import is of type Headless: DNS serves it, the node programs no rules.",
  "import-limit":
    "Endpoints of the import are left out, those of the farthest slices first, or all of it: it would cost the node more than --max-rules-per-import.",
  "namespace-limit":
    "The imports of the namespace would cost the node more than --max-rules-per-namespace: endpoints of those beyond an equal share are left out.",
  "node-limit":
    "All imports would cost the node more than --max-rules: endpoints of namespaces beyond an equal share are left out.",
  "not-imported": "Slices exist for this name, but no ServiceImport.",

  // A port of an import: the tier that takes its traffic.
  "nearest-ready": "The nearest tier with a ready endpoint takes the traffic.",
  "nearest-enough-ready":
    "A nearer tier has fewer ready endpoints than the import's min-ready (of which three quarters are enough for a tier in use); the nearest that has enough takes the traffic.",
  "nearest-serving":
    "No tier has a ready endpoint; the nearest tier with serving endpoints takes the traffic.",
  "nearest-unanswering":
    "No endpoint that answers can take a connection; the nearest tier takes the traffic although its endpoints do not answer. Endpoints that were not tried themselves come first.",
  "no-endpoint": "No endpoint can take a connection: new connections are rejected immediately.",
  "no-selected-endpoint":
    "No endpoint of the selected clusters can take a connection, and the import allows no others (unselected-clusters): new connections are rejected immediately.",
  "no-endpoint-on-node":
    "internalTrafficPolicy is Local and no endpoint on this node can take a connection.",

  // An endpoint that gets no traffic, or a remark about one that does.
  "not-ready": "The endpoint is neither ready nor serving.",
  terminating: "The endpoint is terminating, and better endpoints exist.",
  serving:
    "The endpoint is serving but not ready (its cluster is stale or drained), and better endpoints exist.",
  returning:
    "The endpoint's cluster returns node by node, this node's moment has not come (--return-window), and better endpoints exist.",
  draining:
    "The slice's cluster is drained node by node, and this node's moment has not come (--drain-window): its endpoints are still used as ready ones.",
  unanswering:
    "Connections of this node to the endpoint, or to all of its cluster, get no answer, and better endpoints exist.",
  "too-many-silent":
    "Many endpoints of the namespace, or clusters that only its slices name, do not answer; those beyond a limit are used as if they did.",
  unselected:
    "No selector of the import matches the endpoint's cluster, and the import allows no others (unselected-clusters).",
  "too-few-ready":
    "The endpoint's tier has fewer ready endpoints than the import's min-ready (if it was in use, than three quarters of it), and another tier has enough.",
  "zero-weight":
    "The import's cluster-weights give the endpoint's cluster nothing, and another cluster of the tier has an endpoint.",
  "farther-tier": "A nearer tier has an endpoint that can take the traffic.",
  "other-zone": "trafficDistribution prefers this node's zone, and that zone has an endpoint.",
  "other-node": "trafficDistribution or internalTrafficPolicy keeps traffic on this node.",
  "other-family": "The import has no programmed VIP of the slice's IP family.",
  "port-not-exposed": "The endpoint's slice has no port of this name and protocol.",
  "duplicate-endpoint":
    "The same cluster lists the same address and port more than once; it is used once.",
  "duplicate-address":
    "Another cluster lists the same address and port, and is nearer or sorts first: what it says of the endpoint counts.",
  "origin-unknown":
    "The slice names no source cluster, so its endpoints belong to the farthest tier.",
  superseded:
    "The controller has slices of the same cluster for the import: those of another writer are not used.",
  inactive: 'The slice carries multicluster.kubernetes.io/active: "false".',

  // A quarantined service: its rules in the kernel differ from the plan.
  "refused-by-kernel":
    "The kernel or its tool rejects the rules of this port: connections to it are rejected immediately.",
  "server-foreign":
    "Another program owns a virtual server at this VIP and port: connections are rejected until that server is deleted.",
  "affinity-unsupported":
    "The kernel or its tool rejects session affinity for this port: it is programmed without affinity.",

  // A VIP that is not programmed.
  "vip-conflict":
    "Another import holds the VIP: it was the first to list it, or its IPAddress says so.",
  "vip-contested":
    "Several imports list the VIP, and nothing shows which was the first: none gets it until the others release it.",
  "vip-reserved":
    "The node, its cluster or a peer needs this address: a Service, pod, Node or endpoint range, an API server, a connected subnet.",
  "vip-not-allowed": "The VIP is neither in --clusterset-cidr nor in --explicit-vip-cidrs.",
  "vip-in-use":
    "A slice of the import's namespace lists this address as an endpoint, so it is not programmed as a VIP: connections to the endpoint would be lost.",
  "family-off": "The agent runs without this IP family: --clusterset-cidr has no range of it.",

  // A part of an object that a parser rejected.
  "invalid-object": "A field has a type or structure that its schema does not allow.",
  "invalid-name": "A name is not a valid DNS name of the kind that this field requires.",
  "invalid-label": "A label has a value that is not valid for this label.",
  "invalid-address":
    "Not a canonical IP address (octal, shortened and hexadecimal notations are rejected).",
  "mapped-address": "An IPv4 address embedded in IPv6.",
  "zoned-address": "An IPv6 address with a zone ID, which is meaningless on another node.",
  "wrong-family": "The address is not of the IP family that its object declares.",
  "loopback-address": "A loopback address: each node would connect to itself.",
  "link-local-address":
    "A link-local address: it would reach the node's own link, including cloud metadata services.",
  "multicast-address": "A multicast or broadcast address.",
  "unspecified-address": "The unspecified address, or another address of 0.0.0.0/8.",
  "in-clusterset-cidr": "An endpoint inside the ClusterSet CIDR: DNAT would loop.",
  "invalid-cidr": "Not an address range, or a range with host bits set.",
  "fqdn-slice": "The slice's addressType is FQDN; rules need IP addresses.",
  "invalid-port": "Not a port number from 1 to 65535.",
  "invalid-protocol": "Not TCP, UDP or SCTP.",
  "duplicate-port":
    "Two ports have the same name, or the same number and protocol; the first is used.",
  "too-many-endpoints":
    "A slice lists more than 1,000 endpoints, a cluster's share of a service more than 10,000, its registry more than 500,000, or on a node all slices of a namespace twice --max-rules-per-namespace, where 160 bytes of ports, properties and names count as an endpoint; the rest are ignored.",
  "too-many-ports":
    "An object lists too many ports (a slice over 100, an exported Service over 100, an import over 1,000, all slices of a registry over 500,000); the rest are ignored.",
  "too-many-vips": "An import lists more than 64 VIPs; the rest are ignored.",
  "invalid-policy":
    "An unknown value of this policy field; the field's default applies, except that unselected-clusters with any value but `last` means `never`.",
  "invalid-selector":
    "Not a valid list of cluster selectors (KEP-5939); the whole list is ignored, and the built-in tiers apply. With unselected-clusters `never`, all connections are rejected until the list is corrected.",
  "invalid-property": "Not a cluster property: a name and a string of at most 256 characters.",
  "invalid-shift":
    "Not a window in which nodes move one by one, of at most an hour: this node moves at once.",
  overruled: "Another field sets the same thing and takes precedence.",
  "duplicate-object":
    "Another file defines the same object, or another Secret the same peer; the first by name is used.",

  // A manifest file that keeps its last good content.
  "syntax-error": "Not valid YAML or JSON; line and column are given.",
  "alias-bomb":
    "One YAML anchor is used more than 10,000 times, counting aliases inside other anchors.",
  empty: "An empty file, as a full disk or a crash leaves it during a write.",
  binary: "Not UTF-8, or with control characters, which manifests never contain.",
  "too-deep": "Nested deeper than 100 levels, also by aliases.",
  "too-large": "More than 32 MiB, or more than 4 Mi characters of YAML.",
  "not-a-file": "A directory, device or socket with the name of a manifest.",
  unreadable: "The operating system returns an error for the file or the directory.",
  unwatched:
    "No inotify events for the directory (inotify limits); changes are found every 5 seconds.",

  // A connection to an API server.
  watching: "The initial list is complete, and the watch is open.",
  listing: "A list is in progress; the cached state is kept until it is complete.",
  doubtful:
    "A list would remove most cached objects; they are removed only if a second list confirms it.",
  unreachable: "No connection to the API server, or the connection broke during a response.",
  stalled: "The API server accepts connections but sends no response, or stopped sending.",
  "no-credentials":
    "The kubeconfig, a certificate, a token file or a credential plugin is unusable.",
  unauthorized: "The API server rejects the credentials (401).",
  forbidden: "The API server denies the request (403): a role lacks list or watch.",
  "not-served": "The API server serves no supported version of the resource (404).",
  throttled: "The API server throttles requests (429).",
  refused:
    "The API server rejects the request as invalid (another 4xx status), or admission denies the object, with any status.",
  "server-error": "The API server reports an internal error (5xx).",
  expired: "The resourceVersion is too old (410): a full relist follows.",
  rewound:
    "The API server's resourceVersion is lower than before (restored from a backup): a full relist follows.",
  garbage: "The response is not valid for an API server: a full relist follows.",

  "too-many-objects":
    "The API server lists more objects than a reader keeps track of (200,000 of one resource; in a registry 20,000 exports, 100,000 slices, 1,000 Leases). Namespaces share the number, and none gets more than half: of the one with the most, objects are left out. All others are followed.",

  // A request to an API server that concerns one object.
  absent: "The object or its namespace does not exist (404).",
  "write-conflict":
    "The object changed since it was read, or exists already (409): it is reconciled again.",
  overwritten:
    "Another program changes the object back after each write: the controller retries less and less often, at least once a minute.",
  invalid: "The API server rejects the written object as invalid (422).",
  "webhook-failed":
    "An admission or conversion webhook did not answer, or its patch does not fit the object, and the API server rejects what depends on it (500), or does not complete the write in time (504).",
  "write-failed":
    "The API server reports an internal error (5xx) for a write, and answers a read of the same object: other writes may succeed.",
  "namespace-terminating": "The namespace is terminating and accepts no new objects (403).",
  unforeseen: "An internal error: the log has the stack trace, and the work is retried.",

  // Leader election among replicas.
  leader: "This replica holds the Lease and is active.",
  standby: "Another replica holds the Lease, or may still hold it.",
  "not-renewed": "This replica could not renew its Lease in time: another replica may acquire it.",
  "task-waiting":
    "A change has been waiting for more than 60 seconds to be written to an API server.",
  "not-leader":
    "No writes: this replica does not hold the Lease, or its remaining time is too short.",

  // Content of a registry or a ServiceExport that is not accepted.
  misplaced: "The namespace, name and labels of an object in a registry do not agree on its owner.",
  "foreign-cluster":
    "An object in a registry names another cluster than the registry's own, or a slice of an exported Service another than this one; it is ignored.",
  "outside-endpoint-cidrs": "The endpoint is outside all ranges declared for its cluster.",
  "invalid-drain":
    "Not a drain: `from=TIME; for=DURATION`, at most 30d, and optionally `by=` and `reason=`; it drains nothing.",
  "endpoint-cidrs-missing":
    "No ranges are declared for the cluster's endpoints: its registry is not read.",
  "endpoint-cidrs-open": "The ranges declared for the cluster's endpoints contain every address.",
  "namespace-not-allowed":
    "The annotations that limit the peer do not allow exports to this namespace: the export is not imported.",
  "reserved-key":
    "A label or annotation key in a domain of Kubernetes or of clusterset-proxy: it is not exported.",
  "key-not-allowed":
    "No entry of --exported-keys matches the exported label or annotation: the import does not get it.",
  "policy-not-accepted":
    "A peer exports an annotation of clusterset-proxy, and --accept-policies-from does not name the peer: the import does not get it.",
  "implausible-age":
    "The ServiceExport was created before 2020, which is before ServiceExports existed: it counts as the newest.",
  "too-many-keys":
    "More than 64 labels or annotations are exported, or more than 32,768 characters of them, or the exports of a namespace have more than its share of a registry's 16 Mi; the rest are ignored.",
  "too-many-slices":
    "A cluster's share of a service has too many slices or too many sets of ports, or a namespace has more than its share of a registry's 50,000 slices; the rest are ignored.",
  "too-many-rules":
    "A cluster's share of an import would cost nodes more than its part of --max-rules-per-import, or the slices of a namespace more than its share of --max-rules-per-cluster (endpoints times ports); the rest are ignored.",
  "too-many-records":
    "A namespace has more exports than its share of a registry's 10,000: its newest are ignored until others are deleted.",
  "too-much-memory":
    "The objects of a namespace take more memory than its share: of 64 MiB of ServiceImports on a node, and in a controller of 128 MiB of Services' slices, of 32 MiB of ServiceExports, of 64 MiB of Services, of 128 MiB each of ServiceImports and imported slices, and of 64 MiB of failover slices. The newest ones are ignored until others are deleted; a controller keeps the addresses of Services and ServiceImports taken.",
  "too-many-problems":
    "Objects have more problems than the agent or the controller stores (10,000 of one kind of object, of a node or a registry), and a namespace has more than its share: further problems are not listed.",

  // Health of other clusters, and of the local control plane.
  renewing: "The cluster renews its Lease.",
  drained:
    "An operator has taken the cluster out of rotation until a given time: its ready endpoints count as serving.",
  awaited:
    "The cluster has not renewed its Lease since this controller started watching it; the Lease duration has not passed yet.",
  "lease-silent":
    "The cluster did not renew its Lease in time (by the local clock), or has not yet confirmed that all its exports are published: its ready endpoints count as serving.",
  "never-renewed":
    "The controller has never observed a renewal of the cluster's Lease: its ready endpoints count as serving.",
  "controllers-silent":
    "kube-controller-manager did not renew its Lease in time: its endpoint conditions may be stale.",
  "held-back":
    "Endpoints became unready together right after an outage of the control plane: they are published as serving for at most 30 s.",

  "event-limit":
    "More than 25 Events of one object and reason within minutes: the next Event has their number.",
  "event-queue-full":
    "1,000 Events wait to be created, or a namespace has most of those: the Event is left out.",

  // Identity of this cluster and of the others.
  identified: "The cluster ID and clusterset are known and consistent.",
  "identity-missing": "Neither a flag nor a ClusterProperty sets the cluster ID.",
  "identity-invalid": "A ClusterProperty holds an invalid cluster ID or clusterset ID.",
  "identity-differs": "A flag and a ClusterProperty set different values.",
  "region-missing":
    "Nodes have a region, and the cluster publishes none: its endpoints are global for all other clusters.",
  "region-differs": "The cluster publishes another region than its Nodes have.",
  "identity-changed": "The cluster ID or clusterset changed since the program started.",
  member: "The cluster has the expected ID and is a member of this clusterset.",
  "not-introduced": "The cluster's Lease has not been observed yet: its objects are not used.",
  "id-mismatch": "The cluster reports another ID than the one it is configured with here.",
  "duplicate-cluster-id": "Two clusters have the same ID; the one that published first continues.",
  "other-clusterset":
    "The cluster is a member of another clusterset: its exports are not imported.",
  "lease-absent": "No cluster has published under this ID: the Lease is created.",
  "lease-ours": "This cluster publishes under its ID and renews the Lease.",
  "lease-taken-over":
    "The previous publisher under this ID did not renew the Lease in time: this cluster acquired it.",
  "lease-observed":
    "Another cluster has published under this ID: whether it is still active is known after one Lease duration.",

  // State of a ServiceImport, its VIPs and its slices in this cluster.
  exported:
    "At least one cluster exports the name: the controller created the import and manages it.",
  adopted:
    "The import existed before the name was exported: it keeps its VIPs, and the controller never deletes it.",
  "by-hand":
    "No cluster exports the name: the ServiceImport is user-managed; only its VIP is allocated.",
  released: "The last export of an adopted import was deleted: the import is user-managed again.",
  withdrawn: "The last export was deleted: the controller deletes the import that it created.",
  "not-heard":
    "A cluster that this import, or a failover slice, came from was not listed since the controller's start: what it exported last stays.",
  "range-exhausted": "The ClusterSet CIDR has no free address of this IP family.",
  "range-share":
    "The imports of the namespace have at least four times as many addresses of the ClusterSet CIDR as are free: the rest is for other namespaces.",
  "range-missing": "--clusterset-cidr has no range of this IP family.",
  "pod-range-overlap": "The ClusterSet CIDR overlaps a pod range.",
  "port-not-merged":
    "No port of the slice matches a port of the merged service by protocol and number, or of the local Service by protocol and name or number; ports with crossed names do not match.",
  "family-not-merged":
    "The oldest export, or the local Service, does not have the slice's IP family.",

  // A Service whose ClusterIP is to fail over (annotation cluster-ip-failover).
  "failover-prepared":
    "Failover slices list endpoints of the nearest other clusters for the Service; a proxy uses them while no local endpoint is ready.",
  "local-terminating":
    "The last local endpoints of the Service terminate: until they are gone, its failover slices list endpoints of other clusters as ready, so that proxies send the local ones no new connections.",
  "failover-limit":
    "The nearest other clusters have more than 1,000 endpoints, or 100 slices, of one IP family for the Service: the rest is left out of its failover slices.",
  "failover-forbidden": "--cluster-ip-failover is `never` in this cluster.",
  "service-headless": "The Service is headless: it has no ClusterIP that could fail over.",
  "service-external-name":
    "The Service is of type ExternalName: it has no ClusterIP that could fail over.",
  "not-exported-elsewhere": "No other cluster exports the Service.",
  "import-missing": "The ServiceImport of the name does not exist yet, so its tiers are unknown.",
  "no-remote-endpoint":
    "No other cluster that the import allows has a ready or serving endpoint for the Service.",
  "endpoint-local":
    "All endpoints of other clusters have addresses that the Service's own EndpointSlices list.",
  "unready-published":
    "The Service publishes endpoints that are not ready (publishNotReadyAddresses): it does not fail over before its last endpoint is gone.",
  "traffic-policy-local":
    "The Service's internalTrafficPolicy is Local: clients never leave their node, so the ClusterIP cannot fail over.",
  "slice-foreign":
    "Another program has an EndpointSlice with the name of a failover slice: it is left alone.",
  "slice-refused":
    "The API server refuses a failover slice, as by a quota, an admission policy or a missing right, or another writer reverts it: the controller's log has the answer.",

  // What `kubectl clusterset migrate` makes of an object of another implementation.
  "taken-over": "The object stays as it is, and clusterset-proxy uses it.",
  made: "An object of clusterset-proxy takes its place or is added to it: -o yaml with the step prints it.",
  "left-behind":
    "clusterset-proxy does not use the object: delete it when no client depends on it any more.",
  "no-counterpart":
    "Nothing of clusterset-proxy has the same effect: what differs is said, and the object stays.",
  "needs-join":
    "What happens to the object is known when clusterset-proxy runs in the cluster: join it, and run the command again.",
  "translated-addresses":
    "Globalnet translates the addresses of pods between clusters, and clusterset-proxy needs pods that are reachable under their own.",

  // External changes to managed kernel objects; the agent repairs each.
  "jump-missing": "A jump to a managed chain was deleted from a built-in chain.",
  "jump-behind": "A rule before the managed jump matches some or all traffic to ClusterSetIPs.",
  "jump-extra":
    "A rule in a built-in chain jumps to a managed chain, and the agent did not create it.",
  "chain-missing": "A managed chain was deleted.",
  "chain-changed": "The rules of a managed chain differ from the programmed rules.",
  "server-missing": "A managed virtual server was deleted from IPVS.",
  "server-changed": "A managed virtual server has other settings or destinations than programmed.",
  "server-freed":
    "Another program deleted its virtual server at a VIP and port of an import: the agent programs its own.",
  "vip-missing": "A VIP was deleted from the agent's network device.",
  "guard-missing": "The managed nftables table was deleted.",
  "guard-changed":
    "The rules or elements of the managed nftables table differ from the programmed ones.",
  "table-missing": "The managed table of nftables was deleted.",
  "table-changed":
    "The chains, rules or address sets of the managed table of nftables differ from the programmed ones.",
  "elements-changed":
    "The elements of a service in the managed table of nftables were deleted, or differ from the programmed ones.",
  "setting-changed": "A sysctl that the rules depend on was changed.",

  // A deleted conntrack entry: its next packet starts a new connection.
  "endpoint-left":
    "UDP: the endpoint is not ready any more, or, with udp: follow, gets no new clients of its VIP and port.",
  unanswered:
    "TCP: the endpoint has not answered yet, and no longer takes the traffic of its VIP and port.",
  "endpoint-gone":
    "TCP, if the import requests resets: no slice lists the endpoint and its port any more.",
  "vip-live": "Created before its VIP was programmed, so it could never reach an endpoint.",
  "vip-gone": "Addressed to a ClusterSetIP and port that no import has any more.",

  // Health of the agent, on /readyz and /livez.
  "not-listed": "A source has not completed its initial list; no rules are written before.",
  "not-synced": "The rules have not been in sync with the plan since the agent started.",
  "mass-loss":
    "Most programmed services are missing in the initial list (rules are kept for 30 seconds), or flags do not allow their VIPs (kept until they do).",
  "change-waiting": "A change has been waiting for more than 60 seconds to be programmed.",
  "pass-stuck":
    "A step of a sync of the rules has taken more than 5 minutes, besides the timeout of the tool that runs.",
  ...NODE_REASONS,
} as const;

/** One word of `REASONS`. */
export type Reason = keyof typeof REASONS;

/** True for a word of `REASONS`; another release may have others. PURE. */
export function isReason(word: string): word is Reason {
  return Object.hasOwn(REASONS, word);
}

const PARTIAL: readonly string[] = ["slice-foreign", "slice-refused"] satisfies readonly Reason[];

/** True if a Service with this reason may have a part of its failover slices only: the rest does not come by itself. PURE. */
export function isPartial(reason: string): boolean {
  return PARTIAL.includes(reason);
}
