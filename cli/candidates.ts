import type { Command, Option } from "commander";

/** Values of a flag or argument that only the caller knows, by its placeholder, such as `contexts`. */
export type ValuesOf = (placeholder: string) => readonly string[];

/**
 * What may stand in place of the last word of a command line, after the words before it: subcommands, flags, values of a flag, or of an argument, each once.
 * `valuesOf` knows those of a placeholder such as `names`. PURE.
 */
export function candidates(
  program: Command,
  words: readonly string[],
  valuesOf: ValuesOf,
): string[] {
  const before = words.slice(0, -1);
  const last = words.at(-1) ?? "";
  let command = program;
  for (const word of before) {
    command = command.commands.find((one) => one.name() === word) ?? command;
  }
  const asked = flagOf(command, before.at(-1) ?? "");
  const [name, value] = last.startsWith("--") ? last.split("=", 2) : [];
  const inline = name !== undefined && value !== undefined ? flagOf(command, name) : undefined;
  const found =
    inline !== undefined
      ? valuesOfFlag(inline, valuesOf).map((one) => `${name}=${one}`)
      : asked !== undefined && takesValue(asked)
        ? valuesOfFlag(asked, valuesOf)
        : last.startsWith("-")
          ? [...command.options.flatMap(({ long }) => long ?? []), "--help"]
          : [
              ...command.commands.filter(isShown).map((one) => one.name()),
              ...command.registeredArguments
                .flatMap((one) => valuesOf(one.name()))
                .filter((one) => !before.includes(one)),
            ];
  // `--context a,b`: the last of several values, or one whose name has a comma.
  const kept = last.slice(0, last.lastIndexOf(",") + 1);
  const all = found.flatMap((one) => (one.startsWith("-") ? one : [one, kept + one]));
  return [...new Set(all)].filter((one) => one.startsWith(last)).sort();
}

function flagOf(command: Command, word: string): Option | undefined {
  return command.options.find((one) => one.long === word || one.short === word);
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

function valuesOfFlag({ argChoices, flags }: Option, valuesOf: ValuesOf): readonly string[] {
  return argChoices ?? valuesOf(/[<[](.+?)[>\]]/.exec(flags)?.[1] ?? "");
}

function isShown(command: Command): boolean {
  return !command.name().startsWith("__");
}
