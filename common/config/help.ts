import { type AnyProgram, type Flag, flagList, variableOf, variablePrefix } from "./flag.ts";

/** The `--help` text: commands, and every flag with its default and environment variable. PURE. */
export function helpText(program: AnyProgram): string {
  const { name, about, commands, examples } = program;
  const flags = flagList(program);
  const groups = [...new Set(flags.map(({ group }) => group))];
  const widest = Math.max(...flags.map((flag) => callOf(flag).length));
  const lines = (group: string): string[] =>
    flags.filter((flag) => flag.group === group).map((flag) => line(program, flag, widest));
  const words = Math.max(...Object.keys(commands).map(({ length }) => length));
  return [
    ...about,
    "",
    `Usage: ${name} [command] [flags]`,
    "",
    "Commands",
    ...Object.entries(commands).map(([word, does]) => `  ${word.padEnd(words + 2)}${does}`),
    "",
    "Flags. Each can also be set by the environment variable in brackets, where …_ stands for",
    `${variablePrefix(program)}; a flag takes precedence over its variable.`,
    ...groups.flatMap((group) => ["", group, ...lines(group)]),
    "",
    "Examples",
    ...examples.map((example) => `  ${name} ${example}`),
    "",
    "Exit codes: 0 success, 1 failure, 2 usage error (CSP_USAGE).",
    "Documentation: docs/ in the source tree; REASONS.md, ERRORS.md and METRICS.md list all reasons, errors and metrics.",
    "",
  ].join("\n");
}

function callOf({ name, short, placeholder }: Flag<unknown>): string {
  return `${short === undefined ? "" : `-${short}, `}--${name} ${placeholder}`;
}

function line(program: AnyProgram, flag: Flag<unknown>, widest: number): string {
  const preset = typeof flag.default === "string" ? flag.default : flag.default.shown;
  const defaults = preset === "" ? "" : ` (default: ${preset})`;
  const variable = variableOf(program, flag).slice(variablePrefix(program).length);
  return `  ${callOf(flag).padEnd(widest + 2)}${flag.about}${defaults} […_${variable}]`;
}
