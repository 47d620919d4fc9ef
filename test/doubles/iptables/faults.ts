/**
 * When the real tool says no: `syntax` at the line itself, by the parser; `sanity` at the line, by the tool's
 * own knowledge of the table; `kernel` at COMMIT, by the kernel.
 */
export type Stage = "syntax" | "sanity" | "kernel";

/** What iptables-restore would refuse, too. `stage` decides when it shows, and the exit code. */
export class Refused extends Error {
  readonly stage: Stage;

  constructor(stage: Stage, message: string) {
    super(message);
    this.name = "Refused";
    this.stage = stage;
  }
}

/**
 * What this fake cannot judge: grammar that the product does not write, or that the real tool accepts and
 * then reads differently than its author meant (a comment that it cuts, an octal address). It is thrown
 * through every caller, so that a test can never pass by accident.
 */
export class UnknownGrammar extends Error {
  constructor(what: string) {
    super(`the fake does not know: ${what}`);
    this.name = "UnknownGrammar";
  }
}
