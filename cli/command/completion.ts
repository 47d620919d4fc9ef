import { Argument, type Command } from "commander";
import {
  contextNames,
  kubeconfigFiles,
  mergedKubeconfig,
} from "../../common/kubernetes/kubeconfig-files.ts";
import { candidates } from "../candidates.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { completionScript, SHELLS, type Shell } from "../output/completion-script.ts";
import { printable } from "../output/printable.ts";
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
