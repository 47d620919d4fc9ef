/**
 * Every reason that a decision of clusterset-proxy may carry, with what it means. The word is the interface:
 * it is what logs, metrics, `/plan`, conditions and tests show. docs/REASONS.md lists the same words, and a
 * test holds the two together.
 */
export const REASONS = {
  // An import as a whole.
  programmed: "The import has a VIP and ports, and its traffic goes where the plan says.",
  "no-vip": "The import has no spec.ips yet; nothing can be programmed for it.",
  "no-port": "The import has no usable port; nothing can be programmed for it.",
  headless: "The import is of type Headless: DNS serves it, the node does not.",
  "not-imported": "There are slices for this name, but no ServiceImport.",

  // A port of an import: where its traffic goes, and why there.
  "nearest-ready": "The first tier, nearest first, with a ready endpoint takes the traffic.",
  "nearest-serving":
    "No tier has a ready endpoint; the nearest one with endpoints that still serve is used.",
  "no-endpoint": "No endpoint can take a connection: new connections are rejected at once.",
  "no-endpoint-on-node":
    "internalTrafficPolicy is Local and no endpoint on this node can take a connection.",

  // An endpoint that gets no traffic, or an oddity of one that does.
  "not-ready": "The endpoint is neither ready nor serving.",
  terminating: "The endpoint is shutting down and better ones exist.",
  serving: "The endpoint serves but is not ready (its cluster is stale), and better ones exist.",
  "farther-tier": "A nearer tier has an endpoint that can take the traffic.",
  "other-zone": "trafficDistribution prefers this node's zone, and that zone has an endpoint.",
  "other-node": "trafficDistribution or internalTrafficPolicy keeps the traffic on this node.",
  "other-family": "The import has no programmed VIP of the slice's IP family.",
  "port-not-exposed": "The endpoint's slice has no port of this name and protocol.",
  "duplicate-endpoint":
    "The same cluster lists the same address and port more than once; it counts once.",
  "duplicate-address":
    "Another cluster claims the same address and port, and is nearer or comes first.",
  "origin-unknown":
    "The slice names no source cluster, so its endpoints count as the farthest tier.",
  inactive: 'The slice carries multicluster.kubernetes.io/active: "false".',

  // A service that is not in the kernel as it was planned, so that all others can be.
  "refused-by-kernel":
    "The kernel or its tool refuses the rules of this port: connections to it are rejected at once.",
  "server-foreign":
    "A virtual server of another program stands at this VIP and port: connections are refused until that is gone.",
  "affinity-unsupported":
    "The kernel or its tool refuses session affinity for this port: it is served without.",

  // A VIP that is not programmed.
  "vip-conflict": "An older import claims the same VIP.",
  "vip-reserved": "The VIP is an address that a node needs for something else.",
  "vip-outside": "The VIP lies neither in --clusterset-cidr nor in --explicit-vip-cidrs.",
  "vip-in-use":
    "With IPVS a VIP is an address of the node, and a slice lists this one as an endpoint's: it stays the endpoint's.",
  "family-off": "The agent runs without this IP family: --clusterset-cidr names no range of it.",

  // A part of an object that was refused at the door.
  "invalid-object": "A field has a type or a shape that its schema does not allow.",
  "invalid-name": "A name is not a DNS name of the kind that this field takes.",
  "invalid-label": "A label's value is not what this label may hold.",
  "invalid-address":
    "Not a canonical IP address (octal, shortened and hexadecimal spellings are refused).",
  "mapped-address": "An IPv4 address embedded in IPv6.",
  "zoned-address": "An IPv6 address with a zone, which means nothing on another node.",
  "wrong-family": "The address is not of the family that its object declares.",
  "loopback-address": "A loopback address: it would point every node at itself.",
  "link-local-address":
    "A link-local address: it would reach the node's own link, cloud metadata included.",
  "multicast-address": "A multicast or broadcast address.",
  "unspecified-address": "The unspecified address, or one of its network (0.0.0.0/8).",
  "in-clusterset-cidr": "An endpoint inside the ClusterSet CIDR: DNAT would loop.",
  "invalid-cidr": "Not an address range, or one with bits set beyond its prefix.",
  "fqdn-slice": "The slice's addressType is FQDN; a kernel cannot route to a name.",
  "invalid-port": "Not a port number from 1 to 65535.",
  "invalid-protocol": "Not TCP, UDP or SCTP.",
  "duplicate-port": "Two ports share a name, or a number and protocol; the first counts.",
  "too-many-endpoints":
    "A slice lists more than 1,000 endpoints, a cluster's share of a service more than 10,000, its registry more than 500,000, or an import more than 200,000, counted once for each port; the rest is left out.",
  "too-many-ports":
    "An object lists too many ports (a slice over 100, an exported Service over 100, an import over 1,000, all slices of a registry over 500,000); the rest is left out.",
  "too-many-vips": "An import lists more than 64 VIPs; the rest is left out.",
  "invalid-policy": "A value that this policy field does not know; the field's default applies.",
  "invalid-selector":
    "Not a list of cluster selectors (KEP-5939); all of it is left out, and the built-in tiers apply.",
  "invalid-property": "Not a cluster property: a name and a text of at most 256 characters.",
  overruled: "Another field says the same thing, and it counts.",
  "duplicate-object":
    "Another file defines the same object, or another Secret the same peer; the first by name counts.",

  // A manifest file that keeps its last good content.
  "syntax-error": "Not YAML or JSON, at the line and column that are named.",
  "alias-bomb": "YAML aliases that add more than 10,000 values to a document, or hold themselves.",
  empty: "Not one byte: what a full disk, or a crash, leaves of a file that was being written.",
  binary: "Not UTF-8, or with control characters that no manifest holds.",
  "too-deep": "Nested deeper than 100 levels.",
  "too-large": "More than 32 MiB, or more than 4 Mi characters of YAML.",
  "not-a-file": "A directory, device or socket under a manifest's name.",
  unreadable: "The operating system refuses to read the file or the directory.",
  unwatched: "No events for the directory (inotify limits); changes are found every 5 seconds.",

  // A connection to an API server.
  watching: "Objects were listed, and changes arrive as they happen.",
  listing: "All objects are being listed; what was known stays until the list is complete.",
  doubtful:
    "A list would take away most of what is known; it is believed if a second look says the same.",
  unreachable: "No connection to the API server, or it broke in the middle of an answer.",
  stalled: "The API server takes connections and says nothing, or has fallen silent.",
  "no-credentials":
    "The kubeconfig, a certificate, a token file or a credential plugin cannot be used.",
  unauthorized: "The API server does not accept the credentials (401).",
  forbidden: "The API server does not allow it (403): a role lacks list or watch.",
  "not-served": "The API server does not serve the kind in any version that is understood (404).",
  throttled: "The API server asks to come back later (429).",
  refused:
    "The API server finds the request itself wrong (another 4xx status), or admission denies the object.",
  "server-error": "The API server cannot answer for a reason of its own (5xx).",
  expired: "The API server no longer knows what changed since (410): everything is listed anew.",
  rewound:
    "The API server is older than it was (restored from a backup): everything is listed anew.",
  garbage: "The answer is not what an API server says: everything is listed anew.",

  // A request to an API server that concerns one object.
  absent: "The object, or the namespace that it would be in, does not exist (404).",
  "write-conflict":
    "The object has changed since it was seen, or exists already (409): it is looked at again.",
  overwritten:
    "Somebody else turns the object back each time that it is written: it is written ever more rarely, once a minute in the end.",
  invalid: "The API server finds the object that is written wrong (422).",
  "namespace-terminating": "The namespace is being deleted and takes no new objects (403).",
  unforeseen: "A fault of our own: the log has where it happened, and it is tried again.",

  // Who of several replicas writes.
  leader: "This replica holds the Lease and does the work.",
  standby: "Another replica holds the Lease, or may still hold it.",
  "not-renewed": "The Lease is ours, but could not be renewed in time: another may take it.",
  "task-waiting":
    "A change has been waiting for more than 60 seconds to be written to an API server.",
  "not-leader": "Nothing is written: the Lease is not ours, or not for long enough any more.",

  // What no registry may say, nor a ServiceExport ask for.
  misplaced:
    "An object of a registry whose namespace, name and labels do not agree on whose it is.",
  "foreign-cluster":
    "An object claims another cluster than the one whose registry it lies in; it is left out.",
  "outside-endpoint-cidrs":
    "The endpoint lies outside all ranges that are declared for its cluster.",
  "reserved-key":
    "A label or annotation key of Kubernetes' own domains, or of ours: it is not exported.",
  "too-many-keys":
    "More than 64 labels or annotations are exported, or more than 32,768 characters of them, or 16 Mi characters by a cluster; the rest is left out.",
  "too-many-slices":
    "A cluster's share of a service is in too many slices, or listens on too many sets of ports, or a registry holds more than 50,000 slices; the rest is left out.",
  "too-many-records":
    "A registry holds more than 10,000 exports: those that came last are left out, until there is room.",
  "too-many-problems":
    "More is wrong with objects of a registry than is remembered (10,000 problems of one kind of object); the rest is left out, too, and not listed.",

  // Whether a cluster is alive, and whether we hear of our own.
  renewing: "The cluster renews its Lease.",
  awaited:
    "The cluster has not renewed its Lease since we began to look; it has its time to do so.",
  "lease-silent":
    "The cluster has not renewed its Lease in time, by our own clock, or not said since that all that it exports is published: what was ready of it only serves.",
  "never-renewed":
    "The cluster has not been seen to renew its Lease at all: what was ready of it only serves.",
  "controllers-silent":
    "kube-controller-manager has not renewed its Lease in time: what it says of endpoints is old.",
  "held-back":
    "Endpoints turned unready together just after an outage of the control plane: for at most 30 s they are said to serve.",

  // Who we are, and who the others are.
  identified: "The cluster's id and clusterset are known, and nothing contradicts them.",
  "identity-missing": "Neither a flag nor a ClusterProperty says the cluster's id.",
  "identity-invalid": "A ClusterProperty holds what is no cluster id, or no clusterset's.",
  "identity-differs": "A flag and a ClusterProperty say different things of the cluster.",
  "identity-changed": "The cluster's id or clusterset is another than when the program began.",
  member: "The cluster is who we know it as, and a member of our clusterset.",
  "not-introduced": "The cluster's Lease has not been seen: nothing of it is believed yet.",
  "id-mismatch": "The cluster calls itself by another id than the one that we know it by.",
  "duplicate-cluster-id": "Two clusters have the same id; who publishes first goes on.",
  "other-clusterset": "The cluster is a member of another clusterset: it exports nothing to us.",
  "lease-absent": "Nobody has published under our id: the Lease is made.",
  "lease-ours": "We publish under our id, and renew the Lease.",
  "lease-taken-over":
    "Who published under our id has not renewed the Lease in time: it is ours now.",
  "lease-observed":
    "Somebody else has published under our id: whether they still do will show within the Lease's time.",

  // What becomes of a ServiceImport here, of its VIPs and of its slices.
  exported: "At least one cluster exports the name: the controller made the import, and keeps it.",
  adopted: "The import was there before the name was exported: it keeps its VIPs, and is kept.",
  "by-hand":
    "No cluster exports the name: the import is its author's, and gets no more than a VIP.",
  released: "The last export of an adopted import is gone: the import is its author's again.",
  withdrawn: "The last export is gone: the import that was made for it goes, too.",
  "not-heard":
    "A cluster that the import came from has not been listed yet: the import stays as it is.",
  "range-exhausted": "The ClusterSet CIDR has no free address of this IP family.",
  "range-missing": "--clusterset-cidr names no range of this IP family.",
  "pod-range-overlap": "The ClusterSet CIDR overlaps a range of pods.",
  "port-not-merged":
    "No port of the slice is one that the merged service has with this name, protocol and number.",
  "family-not-merged": "The oldest export does not have the slice's IP family.",

  // What somebody else did to kernel objects of ours; each is repaired.
  "jump-missing": "A jump into a chain of ours is gone from the kernel's own chain.",
  "jump-behind": "A rule before our jump takes traffic to ClusterSetIPs, or some of it.",
  "jump-extra":
    "A rule of the kernel's own chains leads to a chain of ours, and we did not put it there.",
  "chain-missing": "A chain of ours is gone.",
  "chain-changed": "A chain of ours does not hold the rules that were written to it.",
  "server-missing": "A virtual server of ours is gone from IPVS.",
  "server-changed": "A virtual server of ours has other terms or destinations than it was given.",
  "server-freed":
    "Another program's virtual server is gone from a VIP and port of an import: ours takes its place.",
  "vip-missing": "A VIP is gone from our device.",
  "guard-missing": "Our nftables table is gone.",
  "guard-changed":
    "Our nftables table does not hold the rules and elements that were written to it.",
  "setting-changed":
    "A switch of the kernel that what is ours relies on was set to something else.",

  // An entry of connection tracking that was deleted: the next packet is a new connection's first.
  "endpoint-left": "UDP: the endpoint no longer takes the traffic of its VIP and port.",
  unanswered:
    "TCP: nobody has answered yet, and the endpoint no longer takes the traffic of its VIP and port.",
  "endpoint-gone":
    "TCP, where the import asks for resets: no slice lists the endpoint and its port any more.",
  "vip-live": "Recorded before its VIP was programmed, so it would never have reached an endpoint.",
  "vip-gone": "Addressed to a ClusterSetIP and port that no import has any more.",

  // The agent itself, on /readyz and /livez.
  "not-listed": "A source has not yet reported everything that exists; nothing is written before.",
  "not-synced": "The kernel has not been as planned yet, since the agent started.",
  "mass-loss":
    "At the start, nothing tells of most services that the kernel has; their rules stay for 30 seconds.",
  "change-waiting": "A change has been waiting for more than 60 seconds to reach the kernel.",
  "pass-stuck": "A pass over the kernel began more than 5 minutes ago and has not ended.",

  // The node around the agent, on /readyz?verbose; each comes with a sentence that says what mends it.
  "no-route": "The node has no route to the ClusterSet CIDR; its own programs cannot call a VIP.",
  "route-refuses": "A route of type unreachable, blackhole or prohibit covers the ClusterSet CIDR.",
  "vip-on-node": "The node takes addresses of the ClusterSet CIDR for its own.",
  "wrong-source": "The route to the ClusterSet CIDR gives a source address that no answer finds.",
  "forwarding-off": "The kernel does not forward packets of this IP family.",
  "service-range-overlap": "The ClusterSet CIDR overlaps a range of the cluster's Services.",
  "pods-bypass":
    "Pods of this node called a ClusterSetIP, and their packets did not meet our rules.",
  "bypass-suspected":
    "A network plugin is there that may carry pods' packets past our rules; no pod shows yet that it does not.",
  "ipvs-unusable": "The agent may take IPVS and the node lacks something for it: iptables is used.",
  "extension-missing": "The kernel or iptables lacks something that rules of ours are made of.",
  "tool-missing": "A program that writes rules is not installed.",
  "tool-old": "A program that writes rules is of a version that loses or refuses rules like ours.",
  "lock-not-shared":
    "A lock file is the container's own: programs outside of it are not locked out.",
  "conntrack-full": "More than nine tenths of the connection tracking table are in use.",
  "not-tested": "It could not be looked at, or there is nothing to look at yet.",
} as const;

/** One word of `REASONS`. */
export type Reason = keyof typeof REASONS;
