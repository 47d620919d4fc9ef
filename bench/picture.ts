import { count, time } from "./figures.ts";
import { ENDPOINTS } from "./options.ts";

/** How long a change takes with so many services, in milliseconds. */
export interface Point {
  readonly services: number;
  readonly p50: number;
  readonly p99: number;
}

/** One program, by number of services. */
export interface Line {
  readonly label: string;
  /** True for ours. */
  readonly ours: boolean;
  readonly points: readonly Point[];
}

const SIZE = { width: 800, height: 440 };
const PLOT = { left: 78, right: 560, top: 78, bottom: 372 };
/** Pixels between a line's end and its label, and between two labels. */
const GAP = 14;
const LABEL = 34;
/** Times below are drawn here. */
const LEAST_MS = 0.1;
/** Colours that are readable on white and on black. */
const COLOURS = { ours: ["#2f81f7", "#2da44e"], others: ["#db6d28", "#bf4b8a"] } as const;
const STYLE = `
    text { font: 13px system-ui, sans-serif; fill: #1f2328 }
    .back { fill: #ffffff }
    .grid { stroke: #d0d7de }
    .small { font-size: 12px; fill: #59636e }
    .head { font-size: 16px; font-weight: 600 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .back { fill: #0d1117 }
      .grid { stroke: #30363d }
      .small { fill: #9198a1 }
    }
  `;

/** A line with its colour and the places of its points. */
interface Drawn extends Line {
  readonly colour: string;
  readonly places: readonly Place[];
}

interface Place extends Point {
  readonly x: number;
  readonly y: number;
  readonly top: number;
}

/** An SVG of the time from a change to the first connection that follows it, by number of services; both logarithmic. PURE. */
export function pictureOf(lines: readonly Line[], caption: string): string {
  const points = lines.flatMap((line) => line.points);
  if (points.length === 0) throw new Error("nothing to draw");
  const sizes = [...new Set(points.map(({ services }) => services))].sort((a, b) => a - b);
  const slowest = Math.max(...points.map(({ p99 }) => p99));
  const decades = Math.max(1, Math.ceil(Math.log10(slowest / LEAST_MS)));
  const xOf = (services: number) => along(PLOT.left, PLOT.right - 20, share(services, sizes));
  const yOf = (ms: number) =>
    along(PLOT.bottom, PLOT.top, Math.log10(Math.max(ms, LEAST_MS) / LEAST_MS) / decades);
  const numbers = { ours: 0, others: 0 };
  const drawn = lines.map((line): Drawn => {
    const side = line.ours ? "ours" : "others";
    const colour = COLOURS[side][numbers[side]++ % COLOURS[side].length] ?? "";
    const places = line.points.map((point) => {
      return { ...point, x: xOf(point.services), y: yOf(point.p50), top: yOf(point.p99) };
    });
    return { ...line, colour, places };
  });
  const labels = apart(drawn.map(({ places }) => places.at(-1)?.y ?? PLOT.bottom));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIZE.width} ${SIZE.height}" width="${SIZE.width}" height="${SIZE.height}" role="img">`,
    "  <title>Time from a change to the first connection that follows it, by number of services</title>",
    `  <desc>${drawn.map(spoken).join(" ")}</desc>`,
    `  <style>${STYLE}</style>`,
    `  <rect class="back" width="${SIZE.width}" height="${SIZE.height}" rx="6"/>`,
    text(PLOT.left - 54, 32, "From a change to the first connection that follows it", "head"),
    text(PLOT.left - 54, 54, caption, "small"),
    ...Array.from({ length: decades + 1 }, (_, i) => grid(LEAST_MS * 10 ** i, yOf)),
    ...sizes.map((size) => text(xOf(size), PLOT.bottom + 24, count(size), "small", "middle")),
    text(
      (PLOT.left + PLOT.right) / 2,
      PLOT.bottom + 48,
      `services of ${ENDPOINTS} endpoints`,
      "small",
      "middle",
    ),
    ...drawn.map((line, i) => lineOf(line, labels[i] ?? 0, sizes.at(-1) ?? 0)),
    "</svg>",
    "",
  ].join("\n");
}

/** Where it is between the least and the most, logarithmically. */
function share(size: number, sizes: readonly number[]): number {
  const [least = 1, most = 1] = [sizes[0], sizes.at(-1)];
  return least === most ? 0.5 : Math.log(size / least) / Math.log(most / least);
}

function along(from: number, to: number, share: number): number {
  return Math.round((from + (to - from) * share) * 10) / 10;
}

/** The same heights in the same order, moved until labels do not overlap. */
function apart(heights: readonly number[]): number[] {
  const order = heights.map((_, i) => i).sort((a, b) => (heights[a] ?? 0) - (heights[b] ?? 0));
  const found = [...heights];
  let least = PLOT.top;
  for (const i of order) {
    found[i] = Math.max(heights[i] ?? 0, least);
    least = (found[i] ?? 0) + LABEL;
  }
  let most = PLOT.bottom;
  for (const i of order.toReversed()) {
    found[i] = Math.min(found[i] ?? 0, most);
    most = (found[i] ?? 0) - LABEL;
  }
  return found;
}

function grid(ms: number, yOf: (ms: number) => number): string {
  const y = yOf(ms);
  const name =
    ms < 1 ? `${ms.toFixed(1)} ms` : ms < 1_000 ? `${ms.toFixed(0)} ms` : `${ms / 1_000} s`;
  const line = `  <line class="grid" x1="${PLOT.left}" x2="${PLOT.right}" y1="${y}" y2="${y}"/>`;
  return `${line}\n${text(PLOT.left - 10, y + 4, name, "small", "end")}`;
}

/** `most`: services; a line that ends before them has its own number in its label. */
function lineOf({ label, ours, colour, places }: Drawn, labelY: number, most: number): string {
  const end = places.at(-1);
  if (end === undefined) return "";
  const path = places.map(({ x, y }) => `${x},${y}`).join(" ");
  const dashes = ours ? "" : ' stroke-dasharray="6 4"';
  const x = PLOT.right + GAP;
  const where = end.services < most ? ` with ${count(end.services)}` : "";
  return [
    `  <g stroke="${colour}" fill="${colour}">`,
    ...places.map(({ x, y, top }) => `    <line x1="${x}" x2="${x}" y1="${y}" y2="${top}"/>`),
    `    <polyline fill="none" stroke-width="2.5"${dashes} points="${path}"/>`,
    ...places.map(({ x, y }) => `    <circle cx="${x}" cy="${y}" r="4" stroke="none"/>`),
    `    <line stroke-opacity="0.5" x1="${end.x}" x2="${x - 4}" y1="${end.y}" y2="${labelY}"/>`,
    "  </g>",
    text(x, labelY, label),
    text(x, labelY + 15, `${time(end.p50)}, p99 ${time(end.p99)}${where}`, "small"),
  ].join("\n");
}

function text(x: number, y: number, content: string, kind = "", anchor = "start"): string {
  const attributes = [
    ...(kind === "" ? [] : [`class="${kind}"`]),
    ...(anchor === "start" ? [] : [`text-anchor="${anchor}"`]),
  ];
  const escaped = content.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `  <text x="${x}" y="${y}"${attributes.map((one) => ` ${one}`).join("")}>${escaped}</text>`;
}

/** What it shows, for those who do not see it. */
function spoken({ label, places }: Drawn): string {
  const all = places.map(({ services, p50 }) => `${time(p50)} with ${count(services)}`);
  return `${label}: ${all.join(", ")}.`;
}
