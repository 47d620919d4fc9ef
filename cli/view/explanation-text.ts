import { REASONS } from "../../api/reasons.ts";
import type { Severity } from "../exit-code.ts";
import { type Cell, type Paint, table } from "../output/table.ts";
import type { Comparison, ExplainedEndpoint, ExplainedPort, Explanation } from "./explanation.ts";

/** Rows of a port; `-o json` has all. */
const MOST_ROWS = 100;

/** What is known besides the plan: where DNS points, and conditions of the import and its exports. */
export interface Surroundings {
  readonly dns: string;
  /** Such as `ServiceExport in cluster-1: PortConflict, ports are merged, …`. */
  readonly remarks: readonly string[];
}

/** An explanation as text; `isVerbose`: with the meaning of each reason. PURE. */
export function explanationText(
  found: Explanation & Surroundings,
  isVerbose: boolean,
  paint: Paint = (_style, text) => text,
): string {
  const { region, zone, cluster, node, context } = found;
  const place = [
    cluster ?? "cluster unknown",
    region ?? "region unknown",
    ...(zone === undefined ? [] : [zone]),
  ];
  const vips = found.vips.map(({ address, reason, heldBy }) =>
    reason === "programmed"
      ? address
      : `${address} (${reason}${heldBy === undefined ? "" : `, held by ${heldBy}`})`,
  );
  const head: [string, string][] = [
    ["Import", `${found.import}, ${found.reason}`],
    ["Seen from", `node ${node} (${place.join(", ")}), context ${context}`],
    ["VIP", vips.join(", ") || "none"],
    ["DNS", found.dns],
    ["Agent", agentText(found)],
    ["Kernel", comparisonText(found.kernel, "as planned")],
    ...found.remarks.map((remark): [string, string] => ["Remark", remark]),
  ];
  const width = Math.max(...head.map(([name]) => name.length)) + 2;
  const lines = head.map(
    ([name, text]) => `${paint("heading", `${name}:`.padEnd(width))}${text}\n`,
  );
  const meaning = found.reason === "programmed" ? [] : [`\n${REASONS[found.reason]}\n`];
  const ports = found.ports.map((port) => `\n${portText(port, isVerbose, paint)}`);
  return [...lines, ...meaning, ...ports].join("");
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

function portText(port: ExplainedPort, isVerbose: boolean, paint: Paint): string {
  const { port: name, protocol, family, tier, reason, severity, endpoints } = port;
  const where = tier === undefined ? "rejected" : tier;
  const title = `${name} ${protocol} ${family}: ${styled(`${where} (${reason})`, severity, paint)}\n`;
  const shown = endpoints.slice(0, MOST_ROWS);
  const rows = shown.map((one) => row(one, isVerbose));
  const heading = [
    "TIER",
    "CLUSTER",
    "ENDPOINT",
    "CONDITION",
    "ZONE",
    "NODE",
    "SHARE",
    "REASON",
    ...(isVerbose ? ["MEANING"] : []),
  ];
  const more = endpoints.length - shown.length;
  return [
    title,
    `${REASONS[reason]}\n`,
    rows.length === 0 ? "No slice lists an endpoint.\n" : table(heading, rows, paint),
    more > 0 ? `… and ${more} more\n` : "",
  ].join("");
}

function row(one: ExplainedEndpoint, isVerbose: boolean): (string | Cell)[] {
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
    ...(isVerbose ? [REASONS[reason]] : []),
  ];
}

function styled(text: string, severity: Severity, paint: Paint): string {
  return severity === "well" ? paint("good", text) : paint(severity, text);
}
