import { createInterface } from "node:readline/promises";

/** Where a person reads and types. */
export interface Person {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WritableStream;
  /** Aborted on SIGINT. */
  readonly signal: AbortSignal;
}

/**
 * Asks a person, and returns the line that they type: empty if they end the input (Ctrl-D), undefined if the input is no terminal. Rejects at
 * Ctrl-C, once `signal` is aborted.
 */
export async function ask(
  question: string,
  { input, output, signal }: Person,
): Promise<string | undefined> {
  if (!input.isTTY) return undefined;
  const lines = createInterface({ input, output });
  // The terminal is in raw mode: Ctrl-C is a character, and no signal, until readline is asked.
  lines.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  try {
    // The wait is here, and not at the caller: readline is closed when this function returns.
    return await Promise.race([lines.question(question, { signal }), ended]);
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    return "";
  } finally {
    lines.close();
  }
}
