import { Command } from "commander";
import { VERSION } from "../common/version.ts";
import { addDrain } from "./command/drain.ts";
import type { ExitCode } from "./exit-code.ts";
import type { Terminal } from "./terminal.ts";

/** The command line. `end`: receives the exit code of a command that ran to its end. */
export function createProgram(terminal: Terminal, end: (code: ExitCode) => void): Command {
  const program = new Command("kubectl clusterset")
    .description("Install, examine and operate a clusterset of clusterset-proxy.")
    .version(VERSION, "--version", "print the version")
    .helpCommand("help [command]", "print the help of a command")
    .showHelpAfterError("(--help lists the flags)")
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.note })
    // Reported by the caller, which sets the exit code.
    .exitOverride();
  addDrain(program, terminal, end);
  return program;
}
