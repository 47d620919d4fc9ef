import { createLogger, type Logger } from "../../common/log.ts";

/** A log, and the messages of its warnings and errors. */
export function logLines(): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const write = (line: string): void => {
    const { msg } = JSON.parse(line);
    lines.push(String(msg));
  };
  return { log: createLogger({ level: "warn", format: "json" }, { write }), lines };
}
