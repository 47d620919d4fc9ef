import { Command, CommanderError, InvalidArgumentError } from "commander";
import { codeOf } from "../common/errors.ts";
import { ApiFault } from "../common/kubernetes/api-fault.ts";
import { VERSION } from "../common/version.ts";
import { ClusterFault } from "./clusters/cluster-fault.ts";
import { addBundle } from "./command/bundle.ts";
import { addCheck } from "./command/check.ts";
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
import { withDryRunKinds } from "./command-line.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import { joined, type Printable, printable, printableLines } from "./output/printable.ts";
import { type Streams, type Terminal, terminalOn } from "./terminal.ts";

/** Runs a command line without the program's name; returns its exit code. Errors are on standard error, in one line. */
export async function run(argv: readonly string[], streams: Streams): Promise<ExitCode> {
  const terminal = terminalOn(streams);
  let code: ExitCode = EXIT.well;
  const program = createProgram(terminal, (given) => {
    code = given;
  });
  try {
    await program.parseAsync(withDryRunKinds(argv), { from: "user" });
    return code;
  } catch (thrown) {
    // Of an action, which commander does not print.
    if (thrown instanceof InvalidArgumentError)
      terminal.note(printable`error: ${thrown.message}\n`);
    // Commander has printed its message, or the help.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? EXIT.well : EXIT.usage;
    if (terminal.signal.aborted) return EXIT.failed;
    terminal.note(printable`error: ${messageOf(thrown)}\n`);
    return EXIT.failed;
  }
}

/** Only an unexpected error has its stack. */
function messageOf(thrown: unknown): Printable {
  if (!(thrown instanceof Error)) return printable`${String(thrown)}`;
  if (thrown instanceof ClusterFault) return printable`${thrown.cluster.context}: ${thrown.detail}`;
  if (thrown instanceof ApiFault) return printable`${thrown.message}`;
  const { message, stack = "" } = thrown;
  const code = codeOf(thrown);
  if (code !== undefined) return printable`${message} (${code})`;
  const frames = stack.split("\n").filter((line) => line.startsWith("    at "));
  return joined([printable`${message}`, ...frames.map((frame) => printable`\n${frame}`)]);
}

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
    // commander answers `help nope` with all commands, and does not say why.
    .addHelpText("before", ({ error, command }) => {
      const [word, name] = command.args;
      if (error && word === "help") command.error(`error: unknown command '${name}'`);
      return "";
    })
    .configureOutput({
      writeOut: (text) => terminal.out(printableLines(text)),
      writeErr: (text) => terminal.note(printableLines(text)),
      getOutHelpWidth: () => terminal.columns ?? HELP_COLUMNS,
      getErrHelpWidth: () => terminal.columns ?? HELP_COLUMNS,
    })
    // Reported by the caller, which sets the exit code.
    .exitOverride();
  const groups: readonly (readonly [string, readonly (typeof addStatus)[]])[] = [
    ["Examine:", [addCheck, addStatus, addExplain, addSimulate, addBundle]],
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
