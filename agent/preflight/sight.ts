/** How a program ended that was run to look at the node. */
export interface Outcome {
  /** Exit status; undefined if it was not found, did not start, or was killed. */
  readonly status: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** True if there is no such program. */
  readonly missing: boolean;
}

/** Looks at the node, and changes nothing of it. */
export interface Sight {
  /** Runs a program to its end, or until `stop` is aborted; never rejects. */
  run(argv: readonly [string, ...string[]], stop: AbortSignal): Promise<Outcome>;
  /** The text of a file; undefined if it cannot be read. */
  read(path: string): Promise<string | undefined>;
}
