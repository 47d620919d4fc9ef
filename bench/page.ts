import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { dirname, join, relative } from "node:path";
import { blockOf, withBlock } from "../scripts/documents/markers.ts";
import { servicesOf, time } from "./figures.ts";
import { type Line, pictureOf } from "./picture.ts";
import { missedIn, type Section, tableOf } from "./table.ts";

const PAGE = join(import.meta.dirname, "../docs/BENCHMARKS.md");
const BLOCK = "figures";
const ROOT = join(import.meta.dirname, "..");
const PICTURE = join(ROOT, "docs/images/change-to-live.svg");

/** When and on what a run was made. */
export interface Run {
  readonly date: Date;
  /** What was measured, as `sourceCode` names it. */
  readonly code: string;
  /** What was typed. */
  readonly command: string;
  readonly machine: string;
  readonly minutes: number;
  /** Load averages over a minute before it, and at its end. */
  readonly load: readonly [number, number];
}

/** The machine, for comparisons: processors, memory, kernel, tools. */
export function machine(): string {
  const [cpu, ...more] = cpus();
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
  const model = cpu?.model.replaceAll(/\s+/g, " ").trim();
  return [
    `${1 + more.length} x ${model}, ${memory}`,
    `Linux ${release()}, ${iptables()}Node ${process.versions.node}`,
  ].join("; ");
}

/** `commit 1a2b3c4`, and whether files differ from it. */
export function sourceCode(): string {
  const git = spawnSync("git", ["describe", "--always", "--dirty", "--exclude=*"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const [, commit, changed] = /^(\w+)(-dirty)?$/m.exec(git.stdout ?? "") ?? [];
  if (commit === undefined) return "no commit";
  return `commit ${commit}${changed === undefined ? "" : " with changes"}`;
}

/** `iptables v1.8.9, `, whichever flavour that is here; nothing where there is none. */
function iptables(): string {
  const { stdout } = spawnSync("iptables", ["--version"], { encoding: "utf8" });
  const [version] = /^iptables \S+/.exec(stdout ?? "") ?? [];
  return version === undefined ? "" : `${version}, `;
}

/** The load average over the last minute. */
export function load(): number {
  return loadavg()[0] ?? 0;
}

/** All that a run has to say, as Markdown. PURE. */
export function reportOf(run: Run, sections: readonly Section[]): string {
  const { date, code, command, machine, minutes, load } = run;
  const missed = missedIn(sections);
  const verdict =
    missed.length === 0
      ? "Every target was met.\n"
      : `Not met:\n\n${missed.map((one) => `* ${one}\n`).join("")}`;
  const [before, after] = load.map((one) => one.toFixed(1));
  const head = [
    `Measured on ${date.toISOString().slice(0, 10)}, ${code}, with \`${command}\`, in ${minutes.toFixed(1)} minutes.`,
    `${machine}; load ${before} before, ${after} at the end.`,
    "",
  ].join("\n");
  return `${head}\n${verdict}\n${tableOf(sections)}`;
}

/** Replaces the report in docs/BENCHMARKS.md by the result of `change`. */
export function write(change: (report: string) => string): void {
  const document = readFileSync(PAGE, "utf8");
  writeFileSync(PAGE, withBlock(document, BLOCK, change(blockOf(document, BLOCK))));
}

/** The line below the title of the picture. PURE. */
export function captionOf({ date, machine }: Run): string {
  const [hardware, linux] = machine.split("; ");
  const [kernel] = linux?.split(",") ?? [];
  return `p50, and p99 as a thin line; ${date.toISOString().slice(0, 10)}, ${hardware}, ${kernel}`;
}

/** Writes the picture, and the line that shows it in BENCHMARKS.md. */
export function writePicture(lines: readonly Line[], run: Run): void {
  mkdirSync(dirname(PICTURE), { recursive: true });
  writeFileSync(PICTURE, pictureOf(lines, captionOf(run)));
  writeFileSync(PAGE, withBlock(readFileSync(PAGE, "utf8"), "picture", shownIn(lines)));
}

/** This line. PURE. */
export function shownIn(lines: readonly Line[]): string {
  const figures = lines.flatMap(({ label, points }) => {
    const last = points.at(-1);
    return last === undefined
      ? []
      : [`${label}, ${time(last.p50)} with ${servicesOf(last.services)}`];
  });
  const said = `From a change to the first connection that follows it, p50: ${figures.join("; ")}`;
  return `![${said}](${relative(dirname(PAGE), PICTURE)})\n`;
}
