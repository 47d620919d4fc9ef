import { type Problem, problemText } from "../../api/problem.ts";
import type { LogFields, LogLevel, LogLine } from "../../common/log.ts";
import type { PlannedVip } from "../plan/import-plan.ts";
import { type ImportSummary, type PortSummary, portKey } from "./summary.ts";

/** A log line for each difference between two plans of one import; undefined is an import that does not exist. PURE. */
export function transitions(
  previous: ImportSummary | undefined,
  next: ImportSummary | undefined,
): LogLine[] {
  if (next === undefined) {
    return previous === undefined
      ? []
      : [line("info", "Import was removed", { import: previous.importKey })];
  }
  const about = { import: next.importKey };
  const vips = vipTransitions(previous?.vips ?? [], next.vips, about);
  if (previous === undefined) {
    const fields = { ...about, reason: next.reason, vips: next.vips.map((vip) => vip.address) };
    return [
      line("info", "Import was added", fields),
      ...vips.filter(({ level }) => level === "warn"),
      ...next.ports.filter(rejects).map((port) => rejecting(port, about)),
      ...limitTransitions(undefined, next, about),
    ];
  }
  const changed = { ...about, from: previous.reason, reason: next.reason };
  return [
    ...(previous.reason === next.reason ? [] : [line("info", "Import changed state", changed)]),
    ...vips,
    ...portTransitions(previous.ports, next.ports, about),
    ...limitTransitions(previous, next, about),
  ];
}

/** Problems of one object that are logged one by one: a hostile slice must not fill the disk. */
const MOST_LINES = 5;

/** Log lines for the differences between the previous and the present problems of one object. PURE. */
export function problemTransitions(
  previous: readonly Problem[],
  next: readonly Problem[],
): LogLine[] {
  const before = new Set(previous.map(problemText));
  const after = new Set(next.map(problemText));
  return [
    ...capped(
      next.filter((problem) => !before.has(problemText(problem))),
      (problem) => line("warn", "Rejected part of an object", { ...problem }),
      (object, more) => line("warn", "Rejected more parts of the object", { object, more }),
    ),
    ...capped(
      previous.filter((problem) => !after.has(problemText(problem))),
      ({ object, field, reason }) =>
        line("info", "Part of an object is no longer rejected", { object, field, was: reason }),
      (object, more) =>
        line("info", "More parts of the object are no longer rejected", { object, more }),
    ),
  ];
}

/** Only whether slices are left out, not how many: that changes with every slice. */
function limitTransitions(
  previous: ImportSummary | undefined,
  { limited }: ImportSummary,
  about: LogFields,
): LogLine[] {
  const was = previous?.limited?.reason;
  if (was === limited?.reason) return [];
  if (limited === undefined) {
    return [line("info", "Import is within its limits again", { ...about, was })];
  }
  return [line("warn", "Import exceeds a limit; leaving out endpoints", { ...about, ...limited })];
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
    const message = good ? "VIP is in use" : "VIP is not used";
    lines.push(line(good ? "info" : "warn", message, { ...about, ...fieldsOf(vip) }));
  }
  for (const { address } of before.values()) {
    lines.push(line("info", "VIP was removed", { ...about, vip: address }));
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
    else lines.push(line("info", "Port was added", { ...about, ...place(port), ...state(port) }));
  }
  for (const port of before.values()) {
    lines.push(line("info", "Port was removed", { ...about, ...place(port) }));
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
  if (was.tier === undefined) return [line("info", "Port accepts connections again", fields)];
  if (was.tier !== port.tier) {
    return [line("info", "Port moved to another tier", { ...fields, from: was.tier })];
  }
  if (was.reason !== port.reason) {
    return [line("info", "Port changed its reason, not its tier", fields)];
  }
  if (was.endpoints === port.endpoints) return [];
  return [line("debug", "Port changed its endpoints", { ...fields, had: was.endpoints })];
}

/** Why a port rejects connections; logged again when it changes. */
function whyNot({ reason, excluded = [] }: PortSummary): string {
  return [reason, ...excluded].join();
}

function rejects(port: PortSummary): boolean {
  return port.tier === undefined;
}

function rejecting(port: PortSummary, about: LogFields): LogLine {
  return line("warn", "Port rejects connections", {
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
  lineOf: (problem: Problem) => LogLine,
  lineOfMore: (object: string, more: number) => LogLine,
): LogLine[] {
  const lines = problems.slice(0, MOST_LINES).map(lineOf);
  const more = problems.length - lines.length;
  return more === 0 ? lines : [...lines, lineOfMore(problems[0]?.object ?? "", more)];
}

function line(level: LogLevel, message: string, fields: LogFields): LogLine {
  return { level, message, fields };
}
