import { type Attempt, placeOf } from "../test/connections/connections.ts";
import { ms } from "./duration.ts";
import type { Paint } from "./paint.ts";
import type { Played } from "./play.ts";
import type { Step } from "./steps.ts";
import { failuresOf } from "./verdict.ts";
import { CLUSTERS, type Cluster, type Tier, tierOf } from "./world.ts";

/** All that the picture shows. */
export interface View {
  /** The address that the client connects to. */
  readonly vip: string;
  /** Of every connection so far. */
  readonly attempts: readonly Attempt[];
  /** On the clock of attempts; what is older than a second is no share of anything. */
  readonly now: number;
  readonly began: number;
  /** Clusters whose servers run. */
  readonly up: ReadonlySet<string>;
  readonly steps: readonly Step[];
  readonly played: readonly Played[];
  readonly held: readonly HeldView[];
  readonly rules: readonly string[];
}

export interface HeldView {
  readonly name: string;
  readonly count: number;
  readonly fault: string | undefined;
}

/** Rows of the picture, which never change: it is drawn over itself. */
export const ROWS = 23;
/** The narrowest terminal that it fits into. */
export const LEAST_COLUMNS = 80;

/** Rows for steps and for what is held. */
const STEPS_AND_HELD = 8;

/** A glyph for each tier, so that the strip can be read without colours. */
const GLYPHS: Readonly<Record<Tier, string>> = { local: "█", regional: "▓", global: "▒" };
/** Milliseconds of one cell of the timeline. */
const CELL = 250;

/** Draws the picture: `ROWS` lines of at most `columns` characters. */
export function draw(view: View, columns: number, paint: Paint): string[] {
  const width = Math.max(LEAST_COLUMNS, Math.min(columns, 112));
  const rate = recent(view).length;
  const title = ` clusterset-proxy   shop/web  ${view.vip}:80`;
  const pace = `${rate} new connections a second `;
  const lines = [
    paint("bold", title) + paint("dim", pace.padStart(width - title.length)),
    ...boxes(view, width, paint),
    ...strip(view, width, paint),
    "",
    ...table(view, paint),
    ...held(view, paint),
    "",
    paint("dim", " iptables-save | grep shop/web:http"),
    ...view.rules.slice(0, 3).map((rule) => ` ${abridge(rule, width - 1)}`),
  ];
  while (lines.length < ROWS) lines.push("");
  return lines.slice(0, ROWS);
}

/** A rule as it is if it fits; else what a person looks for in it: the comment and the target. */
function abridge(rule: string, width: number): string {
  if (rule.length <= width) return rule;
  const [, comment = "", target = ""] = /--comment ("[^"]*").*( -[jg] .*)$/.exec(rule) ?? [];
  return `… ${comment} …${target}`.slice(0, width);
}

function recent({ attempts, now }: View): readonly Attempt[] {
  const first = attempts.findLastIndex(({ ended }) => ended < now - 1_000) + 1;
  return attempts.slice(first);
}

function boxes(view: View, width: number, paint: Paint): string[] {
  const inner = Math.floor((width - 2) / 3) - 2;
  const all = recent(view);
  const columns = CLUSTERS.map((cluster) => box(view, cluster, all, inner, paint));
  return (columns[0] ?? []).map((_, row) => columns.map((lines) => lines[row]).join(" "));
}

function box(
  view: View,
  cluster: Cluster,
  all: readonly Attempt[],
  inner: number,
  paint: Paint,
): string[] {
  const isUp = view.up.has(cluster.id);
  const share = (test: (attempt: Attempt) => boolean) =>
    all.length === 0 ? 0 : all.filter(test).length / all.length;
  const isActive = share((attempt) => placeOf(attempt) === cluster.id) > 0;
  const frame = (text: string) => paint(isActive ? cluster.tier : "dim", text);
  const pods = cluster.pods.flatMap((pod) => {
    const part = share(({ answer }) => answer === `${cluster.id}/${pod.name}`);
    const [dot, state] = !isUp
      ? ["○", "stopped"]
      : pod.spare
        ? ["◌", "terminating"]
        : ["●", "ready"];
    const label = ` ${dot} ${pod.name} ${pod.address} `;
    const room = inner - label.length;
    const word = (state.length <= room ? state : "").padEnd(room);
    const length = inner - 8;
    const bar = "█".repeat(Math.round(part * length)).padEnd(length);
    return [
      label + paint(state === "ready" ? "good" : "dim", word),
      ` ${paint(cluster.tier, bar)} ${percent(part)} `,
    ];
  });
  while (pods.length < 4) pods.push(" ".repeat(inner));
  const heading = `─ ${cluster.id} ${cluster.region}, ${cluster.tier} `;
  return [
    frame(`╭${heading.padEnd(inner, "─")}╮`),
    ...pods.map((line) => `${frame("│")}${line}${frame("│")}`),
    frame(`╰${"─".repeat(inner)}╯`),
  ];
}

function percent(part: number): string {
  return `${Math.round(part * 100)} %`.padStart(5);
}

/** Who answered, over time: a cell for each quarter of a second. */
function strip(view: View, width: number, paint: Paint): string[] {
  const room = width - 2;
  const cells = Math.floor((view.now - view.began) / CELL) + 1;
  const first = Math.max(0, cells - room);
  const counts = Array.from({ length: cells - first }, () => new Map<string, number>());
  for (const attempt of view.attempts) {
    const cell = counts[Math.floor((attempt.ended - view.began) / CELL) - first];
    const place = placeOf(attempt);
    cell?.set(place, (cell.get(place) ?? 0) + 1);
  }
  const drawn = counts.map((cell) => {
    const [most] = [...cell].toSorted((a, b) => b[1] - a[1]);
    if (most === undefined) return " ";
    const tier = tierOf(most[0]);
    return tier === undefined ? paint("bad", "×") : paint(tier, GLYPHS[tier]);
  });
  const legend = CLUSTERS.map(({ tier, id }) => paint(tier, `${GLYPHS[tier]} ${tier} ${id}`));
  const cross = view.steps.some(({ wanted }) => wanted === "refused") ? "× refused" : "× failed";
  return [` ${drawn.join("")}`, ` ${legend.join("   ")}   ${paint("bad", cross)}`];
}

function table(view: View, paint: Paint): string[] {
  const heading = row("step", "answered by", "first new", "last old", "connections", "failed");
  const rows = view.steps.map((step, i) => {
    const played = view.played[i];
    if (played !== undefined) return paint(toneOf(played), playedRow(played));
    return i === view.played.length
      ? paint("bold", row(step.title, "…"))
      : paint("dim", row(step.title));
  });
  return [paint("dim", heading), ...rows];
}

function toneOf(played: Played) {
  if (played.faults.length > 0) return "bad";
  return tierOf(played.step.wanted) ?? "good";
}

function playedRow({ step, verdict }: Played): string {
  const failed = failuresOf(verdict);
  const timed = step.acts.length > 0;
  return row(
    step.title,
    tierOf(step.wanted) === undefined ? step.wanted : `${tierOf(step.wanted)} ${step.wanted}`,
    timed ? ms(verdict.firstNew) : "",
    timed ? ms(verdict.lastOld) : "",
    String(verdict.attempts),
    String(failed),
  );
}

function row(...cells: readonly string[]): string {
  const [title = "", by = "", first = "", last = "", count = "", failed = ""] = cells;
  const numbers = first.padStart(10) + last.padStart(10) + count.padStart(13) + failed.padStart(8);
  return ` ${title.padEnd(23)}${by.padEnd(13)}${numbers}`;
}

function held(view: View, paint: Paint): string[] {
  const lines = view.held.map(({ name, count, fault }) => {
    const text = ` held to ${name}: ${count} lines`;
    return fault === undefined
      ? paint("dim", `${text}, none missing`)
      : paint("dim", `${text}, then ${fault}`);
  });
  // A long table leaves less room.
  return [...lines, "", ""].slice(0, Math.max(0, STEPS_AND_HELD - view.steps.length));
}
