import { CommanderError, InvalidArgumentError } from "commander";
import { codeOf } from "../common/errors.ts";
import { ClusterFault } from "./clusters/cluster-fault.ts";
import { withDryRunKinds } from "./command-line.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import { joined, type Printable, printable } from "./output/printable.ts";
import { createProgram } from "./program.ts";
import { type Streams, terminalOn } from "./terminal.ts";

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
  const { message, stack = "" } = thrown;
  const code = codeOf(thrown);
  if (code !== undefined) return printable`${message} (${code})`;
  const frames = stack.split("\n").filter((line) => line.startsWith("    at "));
  return joined([printable`${message}`, ...frames.map((frame) => printable`\n${frame}`)]);
}
