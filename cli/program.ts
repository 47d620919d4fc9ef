import { Command } from "commander";
import { VERSION } from "../common/version.ts";
import { addBundle } from "./command/bundle.ts";
import { addCompletion } from "./command/completion.ts";
import { addDrain } from "./command/drain.ts";
import { addDrill } from "./command/drill.ts";
import { addExplain } from "./command/explain.ts";
import { addExport } from "./command/export.ts";
import { addJoin } from "./command/join.ts";
import { addLeave } from "./command/leave.ts";
import { addMigrate } from "./command/migrate.ts";
import { addRotate } from "./command/rotate.ts";
import { addSimulate } from "./command/simulate.ts";
import { addStatus } from "./command/status.ts";
import { addUpgrade } from "./command/upgrade.ts";
import type { ExitCode } from "./exit-code.ts";
import { printableLines } from "./output/printable.ts";
import type { Terminal } from "./terminal.ts";

/** Characters of a line of help that is no terminal's. */
const HELP_COLUMNS = 80;

/** The command line. `end`: receives the exit code of a command that ran to its end. */
export function createProgram(terminal: Terminal, end: (code: ExitCode) => void): Command {
  const program = new Command("kubectl clusterset")
    .description("Install, examine and operate a clusterset of clusterset-proxy.")
    .version(VERSION, "--version", "print the version")
    // For the hidden command that completes other command lines.
    .enablePositionalOptions()
    .showHelpAfterError("(--help lists the flags)")
    .configureOutput({
      writeOut: (text) => terminal.out(printableLines(text)),
      writeErr: (text) => terminal.note(printableLines(text)),
      getOutHelpWidth: () => terminal.columns ?? HELP_COLUMNS,
      getErrHelpWidth: () => terminal.columns ?? HELP_COLUMNS,
    })
    // Reported by the caller, which sets the exit code.
    .exitOverride();
  const groups: readonly (readonly [string, readonly (typeof addStatus)[]])[] = [
    ["Examine:", [addStatus, addExplain, addSimulate, addBundle]],
    ["Operate:", [addExport, addDrain, addDrill]],
    ["Install:", [addJoin, addMigrate, addUpgrade, addRotate, addLeave]],
    ["Other:", [addCompletion]],
  ];
  for (const [heading, commands] of groups) {
    program.commandsGroup(heading);
    for (const add of commands) add(program, terminal, end);
  }
  return program.helpCommand("help [command]", "print the help of a command");
}
