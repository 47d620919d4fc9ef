import { isDeepStrictEqual } from "node:util";
import { REASONS } from "../../../api/reasons.ts";
import type { Logger } from "../../../common/log.ts";
import type { FileError } from "./mistake.ts";

/** The log as far as it is needed here. */
export type FileLog = Pick<Logger, "info" | "warn">;

/** The errors of files as of now. What becomes different is logged, once; what stays is not. */
export class BrokenFiles {
  readonly #log: FileLog;
  #errors: ReadonlyMap<string, FileError> = new Map();

  constructor(log: FileLog) {
    this.#log = log;
  }

  list(): readonly FileError[] {
    return [...this.#errors.values()];
  }

  /** `errors`: all there are now, at most one of a file. */
  replace(errors: readonly FileError[]): void {
    const before = this.#errors;
    this.#errors = new Map(errors.map((error) => [error.file, error]));
    for (const error of errors) {
      if (isDeepStrictEqual(error, before.get(error.file))) continue;
      const { fault, ...fields } = error;
      this.#log.warn(REASONS[fault], { reason: fault, ...fields });
    }
    for (const { file, fault } of before.values()) {
      if (!this.#errors.has(file))
        this.#log.info("The manifest is no longer broken.", { reason: fault, file });
    }
  }
}
