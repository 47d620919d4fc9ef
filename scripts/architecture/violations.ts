import { matchesGlob, posix } from "node:path";
import { cyclesOf } from "./cycles.ts";
import { resolved, specifiersOf, withoutComments } from "./imports.ts";
import { BACKEND_NAMES, EMPTY_WORDS, IMPURE, MOST_LINES, TIME_OF_DAY } from "./laws.ts";
import type { Rule } from "./rule.ts";
import { PROGRAMS, RULES } from "./table.ts";

/** Source texts by path from the root of the tree. */
export type Sources = ReadonlyMap<string, string>;

/** Everything in the tree that breaks a law, one sentence each. PURE. */
export function violations(sources: Sources, rules: readonly Rule[] = RULES): string[] {
  const graph = new Map(
    [...sources].map(([file, text]) => [
      file,
      specifiersOf(text).map((specifier) => resolved(file, specifier)),
    ]),
  );
  const found: string[] = [];
  for (const [file, text] of sources) {
    found.push(...faultsOfFile(file, text));
    const rule = ruleOf(file, rules);
    if (rule === undefined) {
      found.push(`${file}: belongs to no rule of the import table`);
      continue;
    }
    if (rule.pure) found.push(...impurities(file, text));
    if (asksForTimeOfDay(file, text))
      found.push(`${file}: asks for the time of day, not for Clock`);
    for (const name of backendsNamedIn(file, text))
      found.push(`${file}: names the backend ${name}`);
    for (const target of graph.get(file) ?? []) {
      found.push(...faultsOfImport(file, rule, target, rules));
    }
  }
  for (const cycle of cyclesOf(graph)) found.push(`${cycle.join(" -> ")}: a cycle of imports`);
  return found.sort();
}

/** Rules for which there is no file: what they say is checked by nothing. PURE. */
export function idleRules(sources: Sources, rules: readonly Rule[] = RULES): string[] {
  const used = new Set([...sources.keys()].map((file) => ruleOf(file, rules)));
  return rules.filter((rule) => !used.has(rule)).map((rule) => rule.files.join(", "));
}

function ruleOf(file: string, rules: readonly Rule[]): Rule | undefined {
  return rules.find((rule) => rule.files.some((glob) => matchesGlob(file, glob)));
}

function faultsOfFile(file: string, text: string): string[] {
  const lines = text.split("\n").length - 1;
  return [
    ...(lines > MOST_LINES ? [`${file}: has ${lines} lines, more than ${MOST_LINES}`] : []),
    ...(EMPTY_WORDS.test(file) ? [`${file}: its name says nothing`] : []),
  ];
}

function impurities(file: string, text: string): string[] {
  const code = withoutComments(text);
  return IMPURE.filter(({ pattern }) => pattern.test(code)).map(
    ({ what }) => `${file}: is pure and uses ${what}`,
  );
}

function asksForTimeOfDay(file: string, text: string): boolean {
  return isRestricted(file, TIME_OF_DAY) && TIME_OF_DAY.pattern.test(withoutComments(text));
}

/** The backends that are string literals in a file which must not name any. */
function backendsNamedIn(file: string, text: string): string[] {
  if (!isRestricted(file, BACKEND_NAMES)) return [];
  const code = withoutComments(text);
  return BACKEND_NAMES.names.filter(
    (name) =>
      !file.startsWith(`agent/backends/${name}/`) && new RegExp(`(["'\`])${name}\\1`).test(code),
  );
}

/** Whether a file of our programs is not among those that may do something; tests may do anything. */
function isRestricted(
  file: string,
  { programs, may }: { readonly programs: readonly string[]; readonly may: readonly string[] },
): boolean {
  const among = (globs: readonly string[]) => globs.some((glob) => matchesGlob(file, glob));
  return among(programs) && !among(may) && !file.endsWith(".test.ts");
}

function faultsOfImport(
  file: string,
  rule: Rule,
  target: string,
  rules: readonly Rule[],
): string[] {
  const faults: string[] = [];
  if (!rule.may.some((allowed) => allows(allowed, file, target))) {
    faults.push(`${file}: may not import ${target}`);
  }
  if (PROGRAMS.some((glob) => matchesGlob(target, glob))) {
    faults.push(`${file}: imports ${target}, which is to be started`);
  }
  if (rule.pure && ruleOf(target, rules)?.pure === false) {
    faults.push(`${file}: is pure and imports ${target}, which is not`);
  }
  return faults;
}

function allows(allowed: string, file: string, target: string): boolean {
  if (allowed === "./") return posix.dirname(file) === posix.dirname(target);
  if (allowed === "node:") return target.startsWith("node:");
  if (allowed.startsWith("node:")) return target === allowed || target.startsWith(`${allowed}/`);
  // A glob of paths must not let a built-in module in: "*" would match "node:fs".
  if (target.startsWith("node:")) return false;
  return target === allowed || matchesGlob(target, allowed);
}
