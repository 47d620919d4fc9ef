import type { Clock } from "./clock.ts";
import type { Logger, LogLine } from "./log.ts";
import { LogRateLimit } from "./log-rate-limit.ts";

/** A log with a limited rate of lines about each object. Lines that are left out are counted in the next one. */
export class LimitedLog {
  readonly #log: Logger;
  readonly #limit: LogRateLimit;

  /** `refill`: as of `LogRateLimit`. */
  constructor(log: Logger, clock: Pick<Clock, "now">, refill?: number) {
    this.#log = log;
    this.#limit = new LogRateLimit(clock, refill);
  }

  write(object: string, line: LogLine): void {
    if (!this.#log.enabled(line.level)) return;
    const { write, leftOut, isFirst } = this.#limit.ration(object);
    if (write) {
      this.#log.write(leftOut === 0 ? line : { ...line, fields: { ...line.fields, leftOut } });
    } else if (isFirst) {
      this.#log.warn("Too many log lines about an object; leaving some out", { object });
    }
  }
}
