import { parseArgs } from "node:util";
import {
  type AboutItself,
  type AnyProgram,
  type FlagTable,
  flagList,
  type Host,
  type Program,
  type ValuesOf,
  variableOf,
  variablePrefix,
} from "./flag.ts";
import { type Usage, type UsageFault, usage } from "./usage.ts";
import { orList } from "./values.ts";

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that Kubernetes sets for each Service of the namespace, such as one called `clusterset-agent`. */
const SERVICE_LINK =
  /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/;

/** A parsed command line and environment. */
export interface CommandLine<Command extends string, Table extends FlagTable> {
  readonly command: Command | AboutItself;
  readonly values: ValuesOf<Table>;
  /** Log messages about valid but suspicious input. */
  readonly warnings: readonly string[];
}

/**
 * Parses a command line and an environment; returns all faults at once. A flag has the text of the command line, else of a non-empty variable, else its
 * default. Help and version always succeed. PURE.
 */
export function readCommandLine<Command extends string, Table extends FlagTable>(
  program: Program<Command, Table>,
  argv: readonly string[],
  env: Environment,
  host: Host,
): CommandLine<Command, Table> | Usage {
  const line = readLine(program, argv);
  // A fault must not prevent the help that explains it.
  const isAbout = line.command === "help" || line.command === "version";
  const variables = isAbout ? {} : env;
  const machine = isAbout ? { ...host, name: "localhost" } : host;
  const faults: UsageFault[] = isAbout ? [] : line.faults;
  const values: Record<string, unknown> = {};
  for (const flag of flagList(program)) {
    const variable = variableOf(program, flag);
    const preset = typeof flag.default === "string" ? flag.default : flag.default.of(machine);
    const sources = [
      { where: `--${flag.name}`, text: isAbout ? undefined : line.texts.get(flag.key) },
      { where: variable, text: variables[variable] || undefined },
      { where: `default of --${flag.name}`, text: preset },
    ];
    const { where = "", text = "" } = sources.find((source) => source.text !== undefined) ?? {};
    const result = flag.read(text);
    if ("expected" in result) faults.push({ where, value: text, expected: result.expected });
    else values[flag.key] = result.value;
  }
  if (faults.length > 0) return usage(...faults);
  return {
    // Any other word is a fault.
    command: line.command as Command | AboutItself,
    // Without a fault, every flag has a value of its type.
    values: values as ValuesOf<Table>,
    warnings: unknownVariables(program, variables),
  };
}

/** What the command line says, unparsed: all faults at once. */
function readLine(program: AnyProgram, argv: readonly string[]) {
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
  const texts = new Map<string, string>();
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
    else texts.set(flag.key, value);
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
