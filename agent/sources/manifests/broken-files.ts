import { isDeepStrictEqual } from "node:util";
import type { Logger } from "../../../common/log.ts";
import type { FileError, FileFault } from "./mistake.ts";

/** The log of file errors. */
export type FileLog = Pick<Logger, "info" | "warn">;

/** The current errors of files. Logs each change once. */
export class BrokenFiles {
  readonly #log: FileLog;
  #errors: ReadonlyMap<string, FileError> = new Map();

  constructor(log: FileLog) {
    this.#log = log;
  }

  list(): readonly FileError[] {
    return [...this.#errors.values()];
  }

  /** Files that were not read in time at a start: their objects count as deleted. */
  ignored(files: readonly string[]): void {
    const fields = { reason: "unreadable", files: files.length, file: files[0] };
    this.#log.warn("Manifests are still not readable; continuing without them", fields);
  }

  /** `errors`: all current ones, at most one per file. */
  replace(errors: readonly FileError[]): void {
    const before = this.#errors;
    this.#errors = new Map(errors.map((error) => [error.file, error]));
    for (const error of errors) {
      if (isDeepStrictEqual(error, before.get(error.file))) continue;
      const { fault, ...fields } = error;
      this.#log.warn(messageOf(fault), { reason: fault, ...fields });
    }
    for (const { file, fault } of before.values()) {
      if (!this.#errors.has(file))
        this.#log.info("Manifest is valid again", { reason: fault, file });
    }
  }
}

function messageOf(fault: FileFault): string {
  if (fault === "unwatched") return "Watching manifests failed; checking them periodically";
  return "Manifest is not usable; using its last valid content";
}
