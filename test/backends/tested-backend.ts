import type { Transaction } from "../../agent/backends/backend.ts";
import type { BackendConfig } from "../../agent/backends/backend-kind.ts";
import type { BackendName } from "../../agent/backends/names.ts";
import type { Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Flow, Target } from "../packets/packet-case.ts";
import type { Programming } from "../packets/rendered.ts";
import type { Traced } from "../packets/trace.ts";
import type { Storm } from "../stages/connect-storm.ts";
import type { AnyPure } from "../states/replay.ts";

/** What another program does to rules of ours, each as a shell command; it may fail if there is no object to change. */
export type ForeignChanges = Readonly<Record<string, string>>;

/** A backend as tests see it. */
export interface TestedBackend {
  readonly name: BackendName;
  /** In names of tests. */
  readonly title: string;
  /**
   * The tests that run in the virtual machine (test/vm), whose kernel has IPVS and SCTP: all of them, none, or only SCTP's cases of
   * the packet table. The others run on this machine.
   */
  readonly inGuest: "all" | "packets" | "none";
  /** What `own` has once the agent has removed rules of other backends and programmed all of its own. */
  readonly complete: RegExp;
  /** Of the agent. */
  readonly flags: readonly string[];
  /** The same, for tests that open the backend without an agent. */
  readonly config: Partial<BackendConfig>;
  /** The pure part of the backend, and a model of the kernel; with the ClusterSet CIDRs of `nodeFact`, if there are no others. */
  readonly pure: (family: Family, ranges?: readonly Cidr[]) => AnyPure;
  /** A model of the kernel of a node that the backend has programmed, for packets. */
  readonly program: (programming: Programming) => Traced;
  /** A flow of the packet table as this backend forwards it. */
  readonly flow: (flow: Flow) => Flow;
  /** Protocols whose connections its rules keep after the import is withdrawn. */
  readonly kept: readonly Target["protocol"][];
  /** The fate of a packet to a VIP and port with endpoints that belongs to no connection of conntrack or of the backend. */
  readonly invalid: "dropped" | "untouched";
  /** The name of a program that it keeps running and writes whole transactions to, if there is one. */
  readonly writerProcess?: RegExp;
  /** Kernel objects of a failover of one import with two VIPs, from two endpoints of one family to one. */
  readonly failover: { readonly written: number; readonly deleted: number };
  /** A storm that a machine with this backend bears. */
  readonly storm: Omit<Storm, "flags">;
  readonly foreignChanges: (family: Family) => ForeignChanges;
  /** The programs that write to the kernel. */
  readonly writers: readonly string[];
  /**
   * Shell scripts in place of its tools, by program, which call `may_write` before each write and `may_read` before reading
   * (test/backends/faults.test.ts).
   */
  readonly standIns: Readonly<Record<string, string>>;
  /** The agent that writes with these tools only; absent if it always does. */
  readonly writingByTools?: (lab: Lab) => Promise<string[]>;
  /** Runs a part, from 0 to 1, of a transaction; absent if the kernel accepts transactions as a whole. */
  readonly applyPart?: (family: Family, tx: Transaction, part: number) => Promise<void>;
  /** Shell commands that create an object of another program, where ours are, and that list it. */
  readonly foreign: { readonly create: string; readonly list: string; readonly shown: RegExp };
  /** Endpoints that the kernel forwards new connections of a protocol to, on port 8080; each once, in order. */
  takers(node: Namespace, family: Family, protocol: Protocol): Promise<string[]>;
  /** All objects of ours in the kernel, of both families, as its tools print them; empty if there is none. */
  own(node: Namespace): Promise<string[]>;
}

/** The addresses that a pattern finds in a listing, each once, in order, without brackets. */
export function addressesIn(listing: string, pattern: RegExp): string[] {
  const found = [...listing.matchAll(pattern)].map(([, address = ""]) => address);
  return [...new Set(found.map((address) => address.replace(/[[\]]/g, "")))].sort();
}

/** Changes of a table and of one of its base chains, after which the same rules have another effect or none. */
export function changedChains(table: string, chain: string): ForeignChanges {
  const again = (edit: string) =>
    `(echo 'flush chain ${table} ${chain}; delete chain ${table} ${chain}'; nft -y list chain ${table} ${chain} | sed '${edit}') | nft -f -`;
  return {
    "a base chain whose policy drops": `nft 'add chain ${table} ${chain} { policy drop; }'`,
    "a base chain with another priority": again("s/priority [-0-9]*/priority 44/"),
    "a base chain with another hook": again("s/hook [a-z]*/hook output/"),
    "a chain that is no base chain any more": again("/hook/d"),
    "a table that is dormant": `nft 'add table ${table} { flags dormant; }'`,
  };
}

/**
 * In place of nft (`TestedBackend.standIns`). With -i, each line that does not end a transaction is a write. The table that counts connections is none: the agent writes it
 * with any backend, at times of its own.
 */
export const NFT_STAND_IN = `pass() {
  while IFS= read -r line; do
    case "$line" in
      end-of-*) ;;
      *) may_write || line="no-memory" ;;
    esac
    printf '%s\\n' "$line"
  done
}
case "$1" in
  -i) pass | $real -i ;;
  -f) input=$(cat)
      case "$input" in
        *clusterset-connections*) ;;
        *) may_write || { echo "no memory" >&2; exit 1; } ;;
      esac
      printf '%s\\n' "$input" | $real "$@" ;;
  *) may_read
     exec $real "$@" ;;
esac`;
