import { type Problem, problemText } from "../../api/problem.ts";
import type { LogFields, LogLevel, LogLine } from "../../common/log.ts";
import type { PlannedVip } from "../plan/import-plan.ts";
import { type ImportSummary, type PortSummary, portKey } from "./summary.ts";

/**
 * What is worth telling between two plans of one import: a line for each thing that became different, none
 * if nothing did. Undefined stands for an import of which nothing is known. PURE.
 */
export function transitions(
  previous: ImportSummary | undefined,
  next: ImportSummary | undefined,
): LogLine[] {
  if (next === undefined) {
    return previous === undefined
      ? []
      : [line("info", "Import is gone.", { import: previous.importKey })];
  }
  const about = { import: next.importKey };
  const vips = vipTransitions(previous?.vips ?? [], next.vips, about);
  if (previous === undefined) {
    const fields = { ...about, reason: next.reason, vips: next.vips.map((vip) => vip.address) };
    return [
      line("info", "Import appeared.", fields),
      ...vips.filter(({ level }) => level === "warn"),
      ...next.ports.filter(rejects).map((port) => rejecting(port, about)),
    ];
  }
  const changed = { ...about, from: previous.reason, reason: next.reason };
  return [
    ...(previous.reason === next.reason ? [] : [line("info", "Import changed state.", changed)]),
    ...vips,
    ...portTransitions(previous.ports, next.ports, about),
  ];
}

/** Lines for one object are cut at this number: a hostile slice must not fill a disk with its faults. */
const MOST_LINES = 5;

/** What is worth telling between two states of what is wrong with one object. PURE. */
export function problemTransitions(
  previous: readonly Problem[],
  next: readonly Problem[],
): LogLine[] {
  const before = new Set(previous.map(problemText));
  const after = new Set(next.map(problemText));
  return [
    ...capped(
      next.filter((problem) => !before.has(problemText(problem))),
      (problem) => line("warn", "Refused.", { ...problem }),
      (object, more) => line("warn", "Refused, and more of the same object.", { object, more }),
    ),
    ...capped(
      previous.filter((problem) => !after.has(problemText(problem))),
      ({ object, field, reason }) =>
        line("info", "No longer refused.", { object, field, was: reason }),
      (object, more) =>
        line("info", "No longer refused, nor more of the same object.", { object, more }),
    ),
  ];
}

function vipTransitions(
  previous: readonly PlannedVip[],
  next: readonly PlannedVip[],
  about: LogFields,
): LogLine[] {
  const before = new Map(previous.map((vip) => [vip.address, vip]));
  const lines: LogLine[] = [];
  for (const vip of next) {
    const was = before.get(vip.address);
    before.delete(vip.address);
    if (was?.reason === vip.reason && was.heldBy === vip.heldBy) continue;
    const good = vip.reason === "programmed";
    const message = good ? "VIP is in use." : "VIP is not used.";
    lines.push(line(good ? "info" : "warn", message, { ...about, ...fieldsOf(vip) }));
  }
  for (const { address } of before.values()) {
    lines.push(line("info", "VIP is gone.", { ...about, vip: address }));
  }
  return lines;
}

function fieldsOf({ address, reason, heldBy }: PlannedVip): LogFields {
  return { vip: address, reason, ...(heldBy !== undefined && { heldBy }) };
}

function portTransitions(
  previous: readonly PortSummary[],
  next: readonly PortSummary[],
  about: LogFields,
): LogLine[] {
  const before = new Map(previous.map((port) => [portKey(port), port]));
  const lines: LogLine[] = [];
  for (const port of next) {
    const was = before.get(portKey(port));
    before.delete(portKey(port));
    if (was !== undefined) lines.push(...portTransition(was, port, about));
    else if (rejects(port)) lines.push(rejecting(port, about));
    else lines.push(line("info", "Port appeared.", { ...about, ...place(port), ...state(port) }));
  }
  for (const port of before.values()) {
    lines.push(line("info", "Port is gone.", { ...about, ...place(port) }));
  }
  return lines;
}

function portTransition(was: PortSummary, port: PortSummary, about: LogFields): LogLine[] {
  if (rejects(port)) {
    return was.tier === undefined && whyNot(was) === whyNot(port)
      ? []
      : [rejecting(port, { ...about, ...(was.tier !== undefined && { from: was.tier }) })];
  }
  const fields = { ...about, ...place(port), ...state(port) };
  if (was.tier === undefined) return [line("info", "Port takes connections again.", fields)];
  if (was.tier !== port.tier) {
    return [line("info", "Port moved to another tier.", { ...fields, from: was.tier })];
  }
  if (was.reason !== port.reason) {
    return [line("info", "Port keeps its tier for another reason.", fields)];
  }
  if (was.endpoints === port.endpoints) return [];
  return [line("debug", "Port has other endpoints.", { ...fields, had: was.endpoints })];
}

/** What a person would have to mend: a new word is worth a new line. */
function whyNot({ reason, excluded = [] }: PortSummary): string {
  return [reason, ...excluded].join();
}

function rejects(port: PortSummary): boolean {
  return port.tier === undefined;
}

function rejecting(port: PortSummary, about: LogFields): LogLine {
  return line("warn", "Port rejects connections.", {
    ...about,
    ...place(port),
    reason: port.reason,
    ...(port.excluded !== undefined && { excluded: port.excluded }),
  });
}

function place({ name, protocol, family }: PortSummary): LogFields {
  return { port: name, protocol, family };
}

function state({ tier, reason, endpoints }: PortSummary): LogFields {
  return { tier, reason, endpoints };
}

function capped(
  problems: readonly Problem[],
  tell: (problem: Problem) => LogLine,
  tellMore: (object: string, more: number) => LogLine,
): LogLine[] {
  const told = problems.slice(0, MOST_LINES);
  const more = problems.length - told.length;
  const lines = told.map(tell);
  return more === 0 ? lines : [...lines, tellMore(told[0]?.object ?? "", more)];
}

function line(level: LogLevel, message: string, fields: LogFields): LogLine {
  return { level, message, fields };
}
