import { execFile } from "node:child_process";
import { start } from "./start.ts";

/** How a program ended, whatever way it was. */
export interface Outcome {
  /** Exit status; undefined if it was not found, did not start, or was killed. */
  readonly status: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** True if there is no such program. */
  readonly missing: boolean;
}

/** Milliseconds after which a program is killed. */
const TIMEOUT = 10_000;
/** Bytes of output after which it is: the links of a node with 1,000 pods are half of one million. */
const MOST_OUTPUT = 16 * 1024 * 1024;

/**
 * Runs a program without input to its end, for when its failure is an answer, too. Never rejects. `stop` kills it.
 * Its words are English, whatever the node's locale.
 */
export function outcomeOf(
  [program, ...args]: readonly [string, ...string[]],
  stop?: AbortSignal,
): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const options = {
    env: { ...process.env, LC_ALL: "C" },
    killSignal: "SIGKILL" as const,
    maxBuffer: MOST_OUTPUT,
    timeout: TIMEOUT,
    ...(stop !== undefined && { signal: stop }),
  };
  try {
    const child = start(program, () =>
      execFile(program, args, options, (error, stdout, stderr) => {
        // Of an error that is no exit status, it is a word or nothing.
        const status = error === null ? 0 : Number.parseInt(String(error.code), 10);
        // What starts other programs (env, nsenter) says 127 when it found none, as a shell does.
        const missing = error?.code === "ENOENT" || status === 127;
        resolve({ status: Number.isNaN(status) ? undefined : status, stdout, stderr, missing });
      }),
    );
    child.stdin?.end();
  } catch (error) {
    resolve({ status: undefined, stdout: "", stderr: String(error), missing: false });
  }
  return promise;
}
