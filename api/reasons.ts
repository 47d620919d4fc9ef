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

  // A VIP that is not programmed.
  "vip-conflict": "An older import claims the same VIP.",
  "vip-reserved": "The VIP is an address that a node needs for something else.",
  "vip-outside": "The VIP lies neither in --clusterset-cidr nor in --explicit-vip-cidrs.",
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
  "fqdn-slice": "The slice's addressType is FQDN; a kernel cannot route to a name.",
  "invalid-port": "Not a port number from 1 to 65535.",
  "invalid-protocol": "Not TCP, UDP or SCTP.",
  "duplicate-port": "Two ports share a name, or a number and protocol; the first counts.",
  "too-many-endpoints":
    "A slice lists more than 1,000 endpoints, the API's limit; the rest is left out.",
  "too-many-ports":
    "An object lists too many ports (a slice over 100, an import over 1,000); the rest is left out.",
  "too-many-vips": "An import lists more than 64 VIPs; the rest is left out.",
  "invalid-policy": "A value that this policy field does not know; the field's default applies.",
  "duplicate-object": "Another file defines the same object; the first file by name counts.",

  // A manifest file that keeps its last good content.
  "syntax-error": "Not YAML or JSON, at the line and column that are named.",
  "alias-bomb": "YAML aliases that add more than 10,000 values to a document, or hold themselves.",
  binary: "Not UTF-8, or with control characters that no manifest holds.",
  "too-deep": "Nested deeper than 100 levels.",
  "too-large": "More than 32 MiB, or more than 4 Mi characters of YAML.",
  "not-a-file": "A directory, device or socket under a manifest's name.",
  unreadable: "The operating system refuses to read the file or the directory.",
  unwatched: "No events for the directory (inotify limits); changes are found every 5 seconds.",

  // A connection to an API server.
  watching: "Objects were listed, and changes arrive as they happen.",

  // What somebody else did to kernel objects of ours; each is repaired.
  "jump-missing": "A jump into a chain of ours is gone from the kernel's own chain.",
  "jump-behind": "A rule before our jump takes traffic to ClusterSetIPs, or some of it.",
  "chain-missing": "A chain of ours is gone.",
  "chain-changed": "A chain of ours does not hold the rules that were written to it.",

  // The agent itself, on /readyz and /livez.
  "not-listed": "A source has not yet reported everything that exists; nothing is written before.",
  "not-synced": "The kernel has not been as planned yet, since the agent started.",
  "change-waiting": "A change has been waiting for more than 60 seconds to reach the kernel.",
  "pass-stuck": "A pass over the kernel began more than 5 minutes ago and has not ended.",
} as const;

/** One word of `REASONS`. */
export type Reason = keyof typeof REASONS;
