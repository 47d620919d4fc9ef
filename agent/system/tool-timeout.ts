/** Milliseconds of Node.js's longest timer. */
const LONGEST = 2 ** 31 - 1;
/** The next call may take this many times as long as the last one. */
const MARGIN = 4;

/** The timeouts of calls under way, each with its milliseconds. */
const underWay = new Set<{ readonly ms: number }>();

/** Milliseconds of the longest timeout of a call under way; 0 if there is none. Until then, a pass that waits for it does not hang. */
export function longestTimeout(): number {
  return Math.max(0, ...[...underWay].map(({ ms }) => ms));
}

/** Of the time of a call, the share for which a tool that works uses a processor at least, however busy the machine is. */
const WORKING = 0.01;

/**
 * How long calls of one tool may take. A tool takes longer the more rules the kernel has; with a fixed timeout there would be a number of
 * rules with which every call fails. So it is doubled when a call that used the processor has not ended in time; one that waits is hanging.
 */
export class ToolTimeout {
  readonly #least: number;
  #factor = 1;

  /** `least`: milliseconds that a call may always take. */
  constructor(least: number) {
    this.#least = least;
  }

  /** True if calls may take longer than at first. */
  get grown(): boolean {
    return this.#factor > 1;
  }

  /** A call begins that usually may take `usual`. It may take `ms`; the caller calls one of the others when it ends. */
  begin(usual = this.#least): ToolCall {
    const call = { ms: Math.min(LONGEST, usual * this.#factor) };
    const began = performance.now();
    underWay.add(call);
    return {
      ...call,
      ended: () => {
        if (!underWay.delete(call)) return;
        this.#factor = Math.max(1, (MARGIN * (performance.now() - began)) / usual);
      },
      expired: (cpuTime) => {
        if (underWay.delete(call) && cpuTime > call.ms * WORKING) this.#factor *= 2;
      },
      failed: () => void underWay.delete(call),
    };
  }
}

/** A call under way. */
export interface ToolCall {
  /** Its timeout in milliseconds. */
  readonly ms: number;
  ended(): void;
  /** It has not ended in time, and has used so many milliseconds of a processor. */
  expired(cpuTime: number): void;
  /** It has ended otherwise. Does nothing after the others. */
  failed(): void;
}
