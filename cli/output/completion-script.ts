import { type Printable, printable } from "./printable.ts";

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
