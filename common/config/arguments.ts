import { parseArgs } from "node:util";
import type { Host } from "./flag.ts";
import { nearest } from "./nearest.ts";
import { type AnyProgram, flagList, variableOf, variablePrefix } from "./program.ts";
import type { UsageFault } from "./usage.ts";
import { orList } from "./values.ts";

/** The text of one flag, and where it was found. */
export interface GivenText {
  readonly text: string;
  /** For messages: `--region`, `CLUSTERSET_AGENT_REGION`, `default of --node-name`. */
  readonly where: string;
}

/** A command line and an environment, sorted; nothing is read yet. */
export interface Arguments {
  /** One of the program's. */
  readonly command: string;
  /** By key of the flag. */
  readonly texts: ReadonlyMap<string, GivenText>;
  readonly faults: readonly UsageFault[];
  readonly warnings: readonly string[];
}

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Variables that Kubernetes itself puts into a container for each Service of its namespace: one that is
 * called `clusterset-agent`, or so, must not be taken for a misspelt flag.
 */
const SERVICE_LINK =
  /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/;

/**
 * Sorts the command line and the environment into a command and the texts of flags: command line first, then
 * the environment (an empty variable counts as not set), then the default. PURE.
 */
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
  return { ...line, texts, warnings: strangers(program, env) };
}

type Line = Pick<Arguments, "command" | "texts" | "faults">;

function readLine(program: AnyProgram, argv: readonly string[]): Line {
  const commands = Object.keys(program.commands);
  const flags = flagList(program);
  const { tokens } = parseArgs({
    args: [...argv],
    // Not strict: parseArgs stops at the first fault, and names neither neighbours nor values.
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: {
      ...Object.fromEntries(flags.map(({ name, short }) => [name, option(short)])),
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
    if (flag === undefined) faults.push(unknownFlag(program, where));
    else if (value === undefined || (value.startsWith("-") && !token.inlineValue)) {
      faults.push({ where, expected: `needs a value: ${where} ${flag.placeholder}` });
    } else if (texts.has(flag.key)) faults.push({ where, value, expected: "is given twice" });
    else texts.set(flag.key, { text: value, where: `--${flag.name}` });
  }
  const [preset = ""] = commands;
  const [word = preset, ...more] = words;
  const isNamed = commands.includes(word);
  // After a fault, words may be values that lost their flag: one message is enough.
  if (faults.length === 0) {
    if (!isNamed) faults.push(unknownCommand(commands, word));
    if (more[0] !== undefined) {
      faults.push({ where: "command", value: more[0], expected: "expected one command only" });
    }
  }
  return { command: command ?? (isNamed ? word : preset), texts, faults };
}

function option(short: string | undefined): { type: "string"; short?: string } {
  return { type: "string", ...(short !== undefined && { short }) };
}

function unknownFlag(program: AnyProgram, where: string): UsageFault {
  const names = [...flagList(program).map(({ name }) => name), "help", "version"];
  const name = nearest(where.replace(/^-+/, ""), names);
  return {
    where,
    expected: `no such flag${name === undefined ? "" : `; did you mean --${name}?`}`,
  };
}

function unknownCommand(commands: readonly string[], word: string): UsageFault {
  const name = nearest(word, commands);
  const hint = name === undefined ? "" : `; did you mean ${name}?`;
  return { where: "command", value: word, expected: `expected ${orList(commands)}${hint}` };
}

/** Warnings, not faults: whoever sets them may mean another version of the program. */
function strangers(program: AnyProgram, env: Environment): string[] {
  const known = new Set(flagList(program).map((flag) => variableOf(program, flag)));
  return Object.keys(env)
    .filter((name) => name.startsWith(variablePrefix(program)))
    .filter((name) => !known.has(name) && !SERVICE_LINK.test(name))
    .sort()
    .map((name) => {
      const meant = nearest(name, [...known]);
      const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
      return `The environment variable ${name} stands for no flag and is ignored${hint}`;
    });
}
