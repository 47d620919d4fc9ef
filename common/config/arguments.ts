import { parseArgs } from "node:util";
import type { Host } from "./flag.ts";
import { type AnyProgram, flagList, variableOf, variablePrefix } from "./program.ts";
import type { UsageFault } from "./usage.ts";
import { orList } from "./values.ts";

/** The text of a flag, and its origin. */
export interface GivenText {
  readonly text: string;
  /** For messages: `--region`, `CLUSTERSET_AGENT_REGION`, `default of --node-name`. */
  readonly where: string;
}

/** A sorted command line and environment, with unparsed texts. */
export interface Arguments {
  readonly command: string;
  /** By key of the flag. */
  readonly texts: ReadonlyMap<string, GivenText>;
  readonly faults: readonly UsageFault[];
  readonly warnings: readonly string[];
}

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that Kubernetes sets for each Service of the namespace, such as one called `clusterset-agent`. */
const SERVICE_LINK =
  /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/;

/** The text of each flag: from the command line, else a non-empty environment variable, else the default. PURE. */
export function sortArguments(
  program: AnyProgram,
  argv: readonly string[],
  env: Environment,
  host: Host,
): Arguments {
  const line = readLine(program, argv);
  const texts = new Map<string, GivenText>();
  for (const flag of flagList(program)) {
    const variable = variableOf(program, flag);
    const fromEnv = env[variable] ?? "";
    const preset = typeof flag.default === "string" ? flag.default : flag.default.of(host);
    const given =
      line.texts.get(flag.key) ??
      (fromEnv !== ""
        ? { text: fromEnv, where: variable }
        : { text: preset, where: `default of --${flag.name}` });
    texts.set(flag.key, given);
  }
  return { ...line, texts, warnings: unknownVariables(program, env) };
}

function readLine(
  program: AnyProgram,
  argv: readonly string[],
): Pick<Arguments, "command" | "texts" | "faults"> {
  const commands = Object.keys(program.commands);
  const flags = flagList(program);
  const { tokens } = parseArgs({
    args: [...argv],
    // Strict, parseArgs would report only the first fault, without its value.
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: {
      ...Object.fromEntries(
        flags.map(({ name, short }) => [
          name,
          { type: "string", ...(short && { short }) } as const,
        ]),
      ),
      help: { type: "boolean", short: "h" },
      version: { type: "boolean" },
    },
  });
  const texts = new Map<string, GivenText>();
  const faults: UsageFault[] = [];
  const words: string[] = [];
  let command: string | undefined;
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const { name, rawName: where, value } = token;
    if (name === "help" || name === "version") {
      command ??= name;
      continue;
    }
    const flag = flags.find((candidate) => candidate.name === name);
    if (flag === undefined) {
      const names = [...flags.map((known) => known.name), "help", "version"];
      const hint = hintOf(where.replace(/^-+/, ""), names, "--");
      faults.push({ where, expected: `no such flag${hint}` });
    } else if (value === undefined || (value.startsWith("-") && !token.inlineValue)) {
      faults.push({ where, expected: `needs a value: ${where} ${flag.placeholder}` });
    } else if (texts.has(flag.key)) faults.push({ where, value, expected: "is given twice" });
    else texts.set(flag.key, { text: value, where: `--${flag.name}` });
  }
  const [preset = ""] = commands;
  const [word = preset, ...more] = words;
  const isNamed = commands.includes(word);
  // After a fault, words may be values of an unknown flag.
  if (faults.length === 0) {
    if (!isNamed) {
      const expected = `expected ${orList(commands)}${hintOf(word, commands)}`;
      faults.push({ where: "command", value: word, expected });
    }
    if (more[0] !== undefined) {
      faults.push({ where: "command", value: more[0], expected: "expected one command only" });
    }
  }
  return { command: command ?? (isNamed ? word : preset), texts, faults };
}

/** `; did you mean …?`, or nothing if no word is similar. */
function hintOf(given: string, words: readonly string[], prefix = ""): string {
  const word = nearest(given, words);
  return word === undefined ? "" : `; did you mean ${prefix}${word}?`;
}

/** Warnings, not faults: the variables may be for another version of the program. */
function unknownVariables(program: AnyProgram, env: Environment): string[] {
  const known = flagList(program).map((flag) => variableOf(program, flag));
  return Object.keys(env)
    .filter((name) => name.startsWith(variablePrefix(program)))
    .filter((name) => !known.includes(name) && !SERVICE_LINK.test(name))
    .sort()
    .map((name) => `Ignored unknown environment variable ${name}${hintOf(name, known)}`);
}

/** The word most similar to `given`, with at most one edit per three characters; undefined if there is none. PURE. */
export function nearest(given: string, words: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.floor(given.length / 3) + 1;
  for (const word of words) {
    const edits = distance(given, word);
    if (edits < least) [best, least] = [word, edits];
  }
  return best;
}

/** Number of letters added, removed, replaced or swapped between `a` and `b` (optimal string alignment). */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(above, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? at(before, j - 2) + 1
          : Number.POSITIVE_INFINITY;
      row.push(Math.min(at(above, j) + 1, at(row, j - 1) + 1, replaced, swapped));
    }
    [before, above] = [above, row];
  }
  return at(above, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
