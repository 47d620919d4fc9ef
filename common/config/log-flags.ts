import { LOG_FORMATS, LOG_LEVELS } from "../log.ts";
import type { FlagTable } from "./flag.ts";
import { oneOf } from "./values.ts";

/** Heading of the flags that say what a program shows of itself. */
export const SHOWN = "What is shown";

/** The flags of a program's log, alike in all programs. */
export const LOG_FLAGS = {
  logLevel: {
    name: "log-level",
    group: SHOWN,
    placeholder: "LEVEL",
    about: `Least severe lines to log: ${LOG_LEVELS.join(", ")}`,
    read: oneOf(LOG_LEVELS),
    default: "info",
  },
  logFormat: {
    name: "log-format",
    group: SHOWN,
    placeholder: "FORMAT",
    about: "json or pretty, on standard error",
    read: oneOf(LOG_FORMATS),
    default: {
      shown: "pretty on a terminal, else json",
      of: (host) => (host.terminal ? "pretty" : "json"),
    },
  },
} as const satisfies FlagTable;
