/** A program and its arguments. */
export type Argv = readonly [program: string, ...args: string[]];

/** How a program ended. */
export interface ProgramResult {
  /** Exit status; undefined if it did not start or was killed. */
  readonly status: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** True if there is no such program. */
  readonly missing: boolean;
}
