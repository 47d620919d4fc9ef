import { Lab } from "../test/lab/lab.ts";
import type { MeasuredBackend } from "./backends.ts";
import { count, figuresOf, servicesOf, time, times } from "./figures.ts";
import type { KernelRun, Timed } from "./kernel-process.ts";
import { type Effort, ENDPOINTS, effortOf, type Options } from "./options.ts";
import type { Size } from "./services.ts";
import { atMostMs, atMostTimes, type Row, type Target } from "./table.ts";

/** Milliseconds that a process may take. */
const PATIENCE = 300_000;
/** Endpoints of each service in the largest size of all, without the simplest tool beside it, which takes minutes. */
const MANY_ENDPOINTS = 100;

/** What becomes of facts in one process, with each of these numbers of services. */
export async function kernelRows(backend: MeasuredBackend, options: Options): Promise<Row[]> {
  const rows: Row[] = [];
  for (const services of options.sizes) {
    const effort = effortOf(options, services);
    const size = { services, endpoints: ENDPOINTS };
    rows.push(...rowsOf(backend, size, await runs(backend, size, effort, true)));
  }
  const services = options.sizes.at(-1) ?? 1;
  if (backend.title === "nftables" && services > 1_000) {
    const size = { services, endpoints: MANY_ENDPOINTS };
    const effort = { ...effortOf(options, services), coldSyncs: 1 };
    const all = await runs(backend, size, effort, false).catch((error: unknown) => String(error));
    rows.push(...(typeof all === "string" ? [unfinished(size, all)] : rowsOf(backend, size, all)));
  }
  return rows;
}

/** For a size that is too large. PURE. */
export function unfinished(size: Size, error: string): Row {
  const [code = error.split("\n", 1)[0] ?? ""] = /CSP_\w+/.exec(error) ?? [];
  const what = `cold sync, restart and changes, ${nameOf(size)}`;
  return { what, ours: code, target: { text: "finishes", met: false } };
}

/** Each in a process and on a node of its own, which has never had a rule; only the first makes changes. */
async function runs(
  { title }: MeasuredBackend,
  { services, endpoints }: Size,
  effort: Effort,
  isBeside: boolean,
): Promise<KernelRun[]> {
  const names = Array.from({ length: effort.coldSyncs }, (_, i) => [`ours-${i}`, `bare-${i}`]);
  const nodes = names.flat().map((name) => ({ name }));
  await using lab = await Lab.create({ clusters: [{ id: "c1", nodes }] });
  const program = `${import.meta.dirname}/kernel-process.ts`;
  const found: KernelRun[] = [];
  for (const [i, [ours = "", bare = ""]] of names.entries()) {
    const changes = i === 0 ? effort.changes : 0;
    const argv = [title, services, endpoints, changes].map(String);
    const beside = isBeside ? [lab.node("c1", bare).id] : [];
    const command = [process.execPath, program, ...argv, ...beside];
    found.push(JSON.parse(await lab.node("c1", ours).exec(command, { timeout: PATIENCE })));
  }
  return found;
}

/** Rows of one size. PURE. */
export function rowsOf(
  backend: Pick<MeasuredBackend, "title" | "once">,
  size: Size,
  all: readonly KernelRun[],
): Row[] {
  const [first] = all;
  if (first === undefined) throw new Error("nothing was measured");
  const changes = changeRow(backend, size, first.changes);
  if (size.services === 1) return [changes];
  return [...coldRows(backend, size, all), changes, ...partRows(backend, size, first)];
}

function coldRows(
  { title, once }: Pick<MeasuredBackend, "title" | "once">,
  size: Size,
  all: readonly KernelRun[],
): Row[] {
  const half = (of: (cold: Timed) => number) => figuresOf(all.map(({ cold }) => of(cold))).p50;
  const [total, bare] = [half((cold) => cold.total), half((cold) => cold.bare ?? Number.NaN)];
  return [
    {
      what: `cold sync, ${nameOf(size)}: p50 of ${all.length}`,
      ours: time(total),
      ...(bare > 0 && { beside: `${time(bare)} ${once}`, ratio: total / bare }),
      ...(title !== "nftables" && atMostTimes(1.3, total / bare)),
      ...(isFull(title, size) && { target: atMostMs("", 600, total) }),
    },
    {
      what: "  of which read / plan and compare / kernel",
      ours: time(
        half(({ read }) => read),
        half(({ ours }) => ours),
        half(({ kernel }) => kernel),
      ),
    },
  ];
}

function changeRow(
  { title, once }: Pick<MeasuredBackend, "title" | "once">,
  size: Size,
  changes: readonly Timed[],
): Row {
  const ours = figuresOf(changes.map(({ total }) => total));
  const all = changes.flatMap(({ bare }) => (bare === null ? [] : [bare]));
  const bare = all.length > 0 ? figuresOf(all) : undefined;
  const ratio = bare && ours.p50 / bare.p50;
  return {
    what: `one slice changes, ${nameOf(size)}: p50 / p99 / max`,
    ours: times(ours),
    ...(bare !== undefined && { beside: `${times(bare)} ${once}` }),
    ...(ratio !== undefined && { ratio }),
    ...targetOf(title, size, ours, ratio),
  };
}

function targetOf(
  title: string,
  { services }: Size,
  { p50, p99 }: { readonly p50: number; readonly p99: number },
  ratio: number | undefined,
): Pick<Row, "ratio" | "target"> {
  if (title === "nftables") return { target: atMostMs("p50", 1, p50) };
  if (services === 1) return { target: atMostMs("p50", 5, p50) };
  if (services > 1_000 && ratio !== undefined) return atMostTimes(1.3, ratio);
  return title === "iptables-nft" ? { target: atMostMs("p99", 50, p99) } : {};
}

function partRows({ title }: Pick<MeasuredBackend, "title">, size: Size, run: KernelRun): Row[] {
  const { changes, restart, peakMB } = run;
  if (restart === undefined) throw new Error("no restart was measured");
  const most = Math.max(...changes.map(({ writes }) => writes));
  // In addition, the element with the number of slots, and the rule for that number where no service had it.
  const enough = size.endpoints + 2;
  const rows: Row[] = [
    {
      what: "  of which plan, render, compare",
      ours: times(figuresOf(changes.map((one) => one.ours))),
    },
    {
      what: "  rules or elements written",
      ours: `${most} at most`,
      beside: `${size.endpoints} endpoints`,
      ratio: most / size.endpoints,
      target: { text: "O(endpoints)", met: most <= enough },
    },
    {
      what: "  restart with existing rules: read, compare",
      ours: `${time(restart.total)}, ${restart.writes} written`,
      beside: `${time(restart.read)} read alone`,
      ratio: restart.total / restart.read,
      target: restartTarget(title, size, restart),
    },
  ];
  if (title !== "nftables") return rows;
  return [
    ...rows,
    { what: "  maximum resident memory of this process", ours: `${peakMB.toFixed(0)} MB` },
  ];
}

function restartTarget(title: string, size: Size, { total, writes }: Timed): Target {
  const isEqual = { text: "writes nothing", met: writes === 0 };
  if (!isFull(title, size)) return isEqual;
  const { text, met } = atMostMs("", 500, total);
  return { text: `${text}, ${isEqual.text}`, met: met && isEqual.met };
}

/** True for the size that the targets of nftables are for. */
function isFull(title: string, { services, endpoints }: Size): boolean {
  return title === "nftables" && services === 10_000 && endpoints === ENDPOINTS;
}

function nameOf({ services, endpoints }: Size): string {
  return `${servicesOf(services)}${endpoints === ENDPOINTS ? "" : ` x ${count(endpoints)}`}`;
}
