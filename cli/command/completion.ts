import { Argument, type Command, type Option } from "commander";
import {
  contextNames,
  kubeconfigFiles,
  mergedKubeconfig,
} from "../../common/kubernetes/kubeconfig-files.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { type Printable, printable } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";

/** Cobra's directive, which kubectl expects after the candidates of a plugin: no names of files besides. */
const NO_FILES = ":4";

/** Placeholders of flags and arguments that are contexts. */
const CONTEXTS = ["names", "context", "contexts"];

/** `completion SHELL`, and `__complete`, which completion scripts and kubectl call. */
export function addCompletion(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  program
    .command("completion")
    .summary("print a completion script")
    .description(
      "Print a completion script for a shell. For `kubectl clusterset`, save it as `kubectl_complete-clusterset` in your PATH with --kubectl, and make it executable.",
    )
    .addArgument(new Argument("<shell>", "for kubectl-clusterset").choices(SHELLS).argOptional())
    .option("--kubectl", "the script that kubectl 1.26 and newer calls")
    .action((shell: Shell | undefined, { kubectl }: { readonly kubectl?: boolean }) => {
      if (kubectl !== true && shell === undefined)
        program.error("error: expected a shell, or --kubectl");
      terminal.out(completionScript(kubectl === true ? "kubectl" : (shell ?? "bash")));
      end(EXIT.well);
    });
  program
    .command("__complete", { hidden: true })
    .argument("[words...]")
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action((words: readonly string[]) => {
      const found = candidates(program, words, (placeholder) =>
        CONTEXTS.includes(placeholder) ? contextsOf(terminal) : [],
      );
      for (const line of [...found, NO_FILES]) terminal.out(printable`${line}\n`);
      end(EXIT.well);
    });
}

/** Nothing if there is no valid kubeconfig: a shell is no place for its errors. */
function contextsOf({ env, home }: Terminal): string[] {
  try {
    return contextNames(
      mergedKubeconfig({ files: kubeconfigFiles(undefined, env.KUBECONFIG, home) }),
    );
  } catch {
    return [];
  }
}

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

/** Shells with a completion script. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
/** One of `SHELLS`. */
export type Shell = (typeof SHELLS)[number];

const NAME = "kubectl-clusterset";

/** Each asks the program itself, whose last line is a directive. */
const SCRIPTS: Readonly<Record<Shell | "kubectl", Printable>> = {
  bash: printable`_kubectl_clusterset() {
  local IFS=$'\\n'
  # Bash splits words at "=" and ":".
  COMPREPLY=($(${NAME} __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | sed '/^:[0-9]*$/d'))
}
complete -o default -F _kubectl_clusterset ${NAME}
`,
  zsh: printable`#compdef ${NAME}
_kubectl_clusterset() {
  local -a found
  found=("\${(@f)$(${NAME} __complete "\${(@)words[2,CURRENT]}" 2>/dev/null | sed '/^:[0-9]*$/d')}")
  compadd -- $found
}
compdef _kubectl_clusterset ${NAME}
`,
  fish: printable`function __kubectl_clusterset
  ${NAME} __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null | string match -v -r '^:[0-9]*$'
end
complete -c ${NAME} -f -a '(__kubectl_clusterset)'
`,
  kubectl: printable`#!/bin/sh
# kubectl 1.26 and newer calls this for the words after "kubectl clusterset".
exec kubectl clusterset __complete "$@"
`,
};

/** The text of a completion script; `kubectl`: that of `kubectl_complete-clusterset`. PURE. */
export function completionScript(shell: Shell | "kubectl"): Printable {
  return SCRIPTS[shell];
}
