import { REASONS } from "../../api/reasons.ts";
import type { Severity } from "../exit-code.ts";
import { joined, NOTHING, type Printable, painted, printable } from "../output/printable.ts";
import { type Cell, PLAIN, type Screen, sentence, table } from "../output/table.ts";
import { clusterIpLines, type ExplainedClusterIp } from "./cluster-ip.ts";
import type { Comparison, ExplainedEndpoint, ExplainedPort, Explanation } from "./explanation.ts";

/** Rows of a port; `-o json` has all. */
const MOST_ROWS = 100;

/** What is known besides the plan of an import: the ClusterIP of the Service of its name, and conditions of the import and its exports. */
interface Surroundings {
  readonly clusterIp: ExplainedClusterIp;
  /** Such as `ServiceExport in cluster-1: PortConflict, ports are merged, …`. */
  readonly remarks: readonly string[];
}

/** An import in one context, and where DNS points. */
export interface ExplainedImport extends Explanation, Surroundings {
  readonly dns: string;
}

/** A Service without an import in one context. */
export interface ExplainedService extends Surroundings {
  readonly context: string;
  readonly import: string;
  /** That there is no import, as a clause. */
  readonly absent: string;
  readonly severity: Severity;
}

/** An explanation as text; `isVerbose`: with the meaning of each reason, once for a port. PURE. */
export function explanationText(
  found: ExplainedImport,
  isVerbose: boolean,
  screen: Screen = PLAIN,
): Printable {
  const { region, zone, cluster, node, context } = found;
  const place = [
    cluster ?? "cluster unknown",
    region ?? "region unknown",
    ...(zone === undefined ? [] : [zone]),
  ];
  const vips = found.vips.map(({ address, reason, heldBy, previous }) => {
    const notes = [
      ...(reason === "programmed" ? [] : [reason]),
      ...(heldBy === undefined ? [] : [`held by ${heldBy}`]),
      ...(previous ? ["previous"] : []),
    ];
    return notes.length === 0 ? address : `${address} (${notes.join(", ")})`;
  });
  const head: [string, string][] = [
    ["Import", `${found.import}, ${found.reason}`],
    ["Seen from", `node ${node} (${place.join(", ")}), context ${context}`],
    ["VIP", vips.join(", ") || "none"],
    ["DNS", found.dns],
    ["Agent", agentText(found)],
    ["Kernel", comparisonText(found.kernel, "as planned")],
    ...clusterIpLines(found.clusterIp),
    ...found.remarks.map((remark): [string, string] => ["Remark", remark]),
  ];
  const meaning =
    found.reason === "programmed"
      ? []
      : [printable`\n${sentence(REASONS[found.reason], screen)}\n`];
  const ports = found.ports.map((port) => printable`\n${portText(port, isVerbose, screen)}`);
  return joined([headText(head, screen), ...meaning, ...ports]);
}

/** A Service without an import, as text. PURE. */
export function serviceText(
  { absent, clusterIp, context, remarks }: ExplainedService,
  screen: Screen = PLAIN,
): Printable {
  const head: [string, string][] = [
    ["Import", absent],
    ["Seen from", `context ${context}`],
    ...clusterIpLines(clusterIp),
    ...remarks.map((remark): [string, string] => ["Remark", remark]),
  ];
  return headText(head, screen);
}

function headText(head: readonly (readonly [string, string])[], screen: Screen): Printable {
  const width = Math.max(...head.map(([name]) => name.length)) + 2;
  return joined(
    head.map(([name, text]) => {
      const begin = painted(screen.paint, "heading", `${name}:`.padEnd(width));
      return printable`${begin}${sentence(text, screen, width)}\n`;
    }),
  );
}

function agentText({ agent }: Explanation): string {
  const { known, setAside } = agent;
  const base = comparisonText(agent, "has planned the same");
  const why =
    known.length === 0 ? [] : [`it knows of ${known.join(", ")}, which only the node can see`];
  const aside = setAside.map(
    ({ servicePort, protocol, reason }) => `${servicePort} ${protocol} is quarantined: ${reason}`,
  );
  return [base, ...why, ...aside].join("; ");
}

function comparisonText({ state, differences, unread }: Comparison, same: string): string {
  if (state === "same") return same;
  if (unread !== undefined) return `not known: ${unread.reason}, ${unread.detail}`;
  return `differs: ${differences.join("; ")}`;
}

const HEADING = ["TIER", "CLUSTER", "ENDPOINT", "CONDITION", "ZONE", "NODE", "SHARE", "REASON"];

function portText(port: ExplainedPort, isVerbose: boolean, screen: Screen): Printable {
  const { port: name, protocol, family, tier, reason, severity, endpoints } = port;
  const where = tier === undefined ? "rejected" : tier;
  const outcome = painted(
    screen.paint,
    severity === "well" ? "good" : severity,
    `${where} (${reason})`,
  );
  const title = printable`${name} ${protocol} ${family}: ${outcome}\n`;
  const shown = endpoints.slice(0, MOST_ROWS);
  const rows = shown.map(row);
  // The meaning of the port's own reason is printed anyway.
  const others = new Set(isVerbose ? shown.map((one) => one.reason) : []).difference(
    new Set([reason]),
  );
  const meanings = [...others].map((one) => [one, REASONS[one]]);
  const more = endpoints.length - shown.length;
  return joined([
    title,
    printable`${sentence(REASONS[reason], screen)}\n`,
    rows.length === 0 ? printable`No slice lists an endpoint.\n` : table(HEADING, rows, screen),
    more > 0 ? printable`… and ${more} more\n` : NOTHING,
    meanings.length > 0 ? printable`\n${table(["REASON", "MEANING"], meanings, screen)}` : NOTHING,
  ]);
}

function row(one: ExplainedEndpoint): (string | Cell)[] {
  const { tier, cluster, endpoint, condition = "", zone = "", node = "", share, reason } = one;
  const isUsed = share > 0;
  return [
    tier,
    cluster,
    { text: endpoint, style: isUsed ? "good" : "faint" },
    condition,
    zone,
    node,
    isUsed ? `${Math.round(share * 1000) / 10}%` : "-",
    reason,
  ];
}
