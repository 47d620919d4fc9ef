import type { Command } from "./arguments.ts";
import { type Flag, flagList, VARIABLE_PREFIX, variableOf } from "./flags.ts";

const COMMAND_HELP: Readonly<Record<Command, string>> = {
  run: "Keep this node's kernel in step with the imports, until stopped (the default)",
  cleanup: "Remove every kernel object of the agent, and nothing else",
  render: "Print the rules for the imports, and program nothing",
  plan: "Print what would be decided about each import, and why, and program nothing",
  version: "Print the version",
  help: "Print this page",
};

/** The page that `--help` prints: commands, and every flag with its default and variable. PURE. */
export function helpText(): string {
  const flags = flagList();
  const groups = [...new Set(flags.map(({ group }) => group))];
  return [
    "clusterset-agent sends connections to a ClusterSetIP to its nearest endpoints: in this cluster,",
    "else in this region, else anywhere.",
    "",
    "Usage: clusterset-agent [command] [flags]",
    "",
    "Commands",
    ...Object.entries(COMMAND_HELP).map(([command, about]) => `  ${command.padEnd(9)}${about}`),
    "",
    "Flags. Each can be given by the environment variable in brackets instead, in which …_ stands for",
    `${VARIABLE_PREFIX}; if both are given, the flag counts.`,
    ...groups.flatMap((group) => ["", group, ...flags.filter((f) => f.group === group).map(line)]),
    "",
    "Examples",
    "  clusterset-agent plan --manifests ./manifests --cluster-id c1 --region eu-west -o yaml",
    "  clusterset-agent render --manifests ./manifests --cluster-id c1 --region eu-west",
    "  clusterset-agent plan --kubeconfig ~/.kube/config --node-name worker-1 -o yaml",
    "  clusterset-agent run --manifests ./manifests --cluster-id c1 --region eu-west \\",
    "    --pod-cidrs 10.1.0.0/16 --masquerade off-cluster",
    "  clusterset-agent cleanup",
    "",
    "Exit codes: 0 done, 1 failed, 2 called wrongly (CSP_USAGE).",
    "Documentation: docs/ in the source tree; REASONS.md, ERRORS.md and METRICS.md explain every word shown.",
    "",
  ].join("\n");
}

function line(flag: Flag<unknown>): string {
  const short = flag.short === undefined ? "" : `-${flag.short}, `;
  const call = `${short}--${flag.name} ${flag.placeholder}`;
  const preset = typeof flag.default === "string" ? flag.default : flag.default.shown;
  const defaults = preset === "" ? "" : ` (default: ${preset})`;
  const variable = variableOf(flag).slice(VARIABLE_PREFIX.length);
  return `  ${call.padEnd(33)}${flag.about}${defaults} […_${variable}]`;
}
