import { type Printable, printable } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";

/** Asks whether to continue; false if the answer is not yes, or nobody can answer, which is then said. */
export async function isConfirmed(
  { ask, note }: Terminal,
  question: Printable,
  yes: boolean | undefined,
): Promise<boolean> {
  if (yes === true) return true;
  const answer = await ask(printable`${question} [y/N] `);
  if (answer === undefined)
    note(printable`Standard input is not a terminal: confirm with --yes.\n`);
  return /^y(es)?$/i.test(answer?.trim() ?? "");
}
