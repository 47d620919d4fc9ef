import type { Command } from "commander";
import { PLAIN } from "../../cli/output/table.ts";
import { createProgram } from "../../cli/run.ts";
import { terminalOn } from "../../cli/terminal.ts";
import { markdownTable } from "./markers.ts";

const HEAD = `# Reference: kubectl clusterset

Made of the program's own help (\`node scripts/documents.ts --write\`). [The guide](guides/kubectl-plugin.md) says what each command is for, with examples, exit codes and rights.
`;

/** All commands of the plugin with their arguments and flags, as a page. */
export function pluginReference(): string {
  const terminal = terminalOn({
    ...{ ...PLAIN, out: () => {}, note: () => {}, ask: async () => undefined },
    ...{ env: {}, home: "~", user: "you", timeOfDay: () => 0 },
    signal: new AbortController().signal,
  });
  const program = createProgram(terminal, () => {});
  return [HEAD, ...program.commands.filter(isShown).map(sectionOf)].join("\n");
}

/** commander has no public word for a hidden command. */
function isShown(command: Command): boolean {
  return !("_hidden" in command && command._hidden === true);
}

function sectionOf(command: Command): string {
  const help = command.createHelp();
  const options = help
    .visibleOptions(command)
    .map((option) => [`\`${help.optionTerm(option)}\``, inline(help.optionDescription(option))]);
  return [
    `## ${command.name()}\n`,
    `${inline(command.description())}\n`,
    `\`\`\`\n${help.commandUsage(command)}\n\`\`\`\n`,
    markdownTable(["Flag", "Meaning"], options),
  ].join("\n");
}

function inline(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, " ").replaceAll("<", "\\<");
}
