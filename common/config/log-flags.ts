import { LOG_FORMATS, LOG_LEVELS } from "../log.ts";
import { type FlagTable, flag, inGroup } from "./flag.ts";
import { oneOf } from "./values.ts";

/** Help group of observability flags. */
export const SHOWN = "Observability";

/** Log flags, common to all programs. */
export const LOG_FLAGS = {
  ...inGroup(SHOWN, {
    logLevel: flag("--log-level LEVEL", {
      about: `Minimum log level: ${LOG_LEVELS.join(", ")}`,
      read: oneOf(LOG_LEVELS),
      default: "info",
    }),
    logFormat: flag("--log-format FORMAT", {
      about: "Log format on standard error: json or pretty",
      read: oneOf(LOG_FORMATS),
      default: {
        shown: "pretty on a terminal, else json",
        of: (host) => (host.terminal ? "pretty" : "json"),
      },
    }),
  }),
} as const satisfies FlagTable;
