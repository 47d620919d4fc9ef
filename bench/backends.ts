import type { Transaction } from "../agent/backends/backend.ts";
import { type Flavour, toolsOf } from "../agent/backends/iptables/flavour.ts";
import type { KernelTable } from "../agent/backends/kernel-table.ts";
import type { Argv } from "../agent/system/program-result.ts";
import { liveChainOf, liveElementOf } from "./live-text.ts";
import { iptables, nftables } from "./pipeline.ts";
import { vipOf } from "./services.ts";
import { IMPORTS } from "./shape.ts";

/** The titles of all measured backends. */
export const TITLES = ["iptables-nft", "iptables-legacy", "nftables"] as const;
/** One of `TITLES`. */
export type Title = (typeof TITLES)[number];

/** A backend, and how the simplest tool does the same. */
export interface MeasuredBackend {
  readonly title: Title;
  /** Flags of the agent. */
  readonly flags: readonly string[];
  /** Opens the backend in the network namespace of this process. */
  open(): KernelTable;
  /** Rules or elements that a transaction writes. */
  written(tx: Transaction): number;
  /** The simplest tool that makes a text live, started for this alone; and what that is called in tables. */
  readonly tool: Argv;
  readonly once: string;
  /** The text of a chain with a DNAT rule for each VIP. */
  readonly dnat: (vips: readonly string[], destination: string) => string;
  /** Lists the service that changes, and makes of the listing a text that writes a part of it as it is. */
  readonly live: { readonly command: Argv; rewrite(listing: string): string };
  /** Lists where connections are forwarded to; each match of the pattern has one address. */
  readonly listing: { readonly command: Argv; readonly endpoint: RegExp };
  /** What another program damages, one after the other. */
  readonly harms: readonly Harm[];
}

/** A shell command that damages a service, or what all services need, and what that is called in tables. */
export interface Harm {
  readonly what: string;
  readonly command: string;
}

/** All backends that are measured beside each other. IPVS needs a virtual machine (guest/). */
export const BACKENDS: readonly MeasuredBackend[] = TITLES.map((title) =>
  title === "nftables" ? withNftables() : withIptables(title === "iptables-nft" ? "nft" : "legacy"),
);

/** Throws if there is no such backend. */
export function backendOf(title: string): MeasuredBackend {
  const found = BACKENDS.find((one) => one.title === title);
  if (found !== undefined) return found;
  throw new Error(`${title}: expected one of ${TITLES.join(", ")}`);
}

function withIptables(flavour: Flavour): MeasuredBackend {
  const title = `iptables-${flavour}` as const;
  const save = [`${title}-save`, "-t", "nat"] as const;
  const chain = "s/^:\\(CSP-SVC-[^ ]*\\).*/*nat\\n:\\1 - [0:0]\\nCOMMIT/p";
  const restore = `${title}-restore --noflush -w`;
  return {
    title,
    flags: ["--iptables-flavour", flavour],
    open: () => iptables(flavour),
    written: (tx) => countRules(tx.toString()),
    tool: [...toolsOf(flavour, "IPv4").restore, "--noflush"],
    once: "one restore",
    dnat: (vips, destination) => {
      const match = (vip: string) => `-d ${vip}/32 -p tcp -m tcp --dport 80`;
      const to = `-j DNAT --to-destination ${destination}`;
      const rules = vips.map((vip) => `-A PREROUTING ${match(vip)} ${to}`);
      return ["*nat", ...rules, "COMMIT", ""].join("\n");
    },
    live: { command: save, rewrite: liveChainOf },
    listing: { command: save, endpoint: /--to-destination ([\d.]+):/g },
    harms: [
      {
        what: "a service's chain is flushed",
        command: `${save.join(" ")} | sed -n '${chain}' | head -n 3 | ${restore}`,
      },
    ],
  };
}

function withNftables(): MeasuredBackend {
  const table = ["ip", "clusterset-proxy"] as const;
  const keyOf = (vip: string) => `{ ${vip} . tcp . 80 }`;
  const element = ["nft", "get", "element", ...table, "services"] as const;
  return {
    title: "nftables",
    flags: ["--backend", "nftables"],
    open: nftables,
    written: (tx) => tx.writes,
    tool: ["nft", "-f", "-"],
    once: "one nft -f",
    dnat: (vips, destination) => {
      const rules = vips.map((vip) => `ip daddr ${vip} tcp dport 80 dnat to ${destination}`);
      const hook = "type nat hook prerouting priority dstnat;";
      return `table ip flat { chain flat { ${hook}\n${rules.join("\n")}\n}\n}\n`;
    },
    live: { command: [...element, keyOf(IMPORTS.vip)], rewrite: liveElementOf },
    listing: {
      command: ["nft", "list", "map", ...table, "endpoints"],
      endpoint: / : ([\d.]+) \. \d+/g,
    },
    harms: [
      {
        what: "a service's element is deleted",
        command: `nft delete element ${table.join(" ")} services '${keyOf(vipOf(2))}'`,
      },
      {
        what: "the map of all services' chains is flushed",
        command: `nft flush map ${table.join(" ")} picks`,
      },
    ],
  };
}

/** Rules in a transaction of iptables. */
function countRules(text: string): number {
  return text.match(/^-[AI] /gm)?.length ?? 0;
}
