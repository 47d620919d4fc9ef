import { BACKENDS } from "../../agent/backends/names.ts";

/** Code that a pure file must not hold, and what it is. */
export const IMPURE: readonly { readonly what: string; readonly pattern: RegExp }[] = [
  { what: "the time of day", pattern: /\bDate\.now\b|\bDate\(\)/ },
  { what: "Math.random", pattern: /\bMath\.random\b/ },
  { what: "process", pattern: /\bprocess\s*[.[]/ },
  { what: "console", pattern: /\bconsole\s*[.[]/ },
  { what: "performance", pattern: /\bperformance\s*[.[]/ },
  { what: "globalThis", pattern: /\bglobalThis\b/ },
  { what: "a timer", pattern: /\b(setTimeout|setInterval|setImmediate|queueMicrotask)\s*\(/ },
  { what: "fetch", pattern: /\bfetch\s*\(/ },
  { what: "a module-level variable", pattern: /^(export )?(let|var) /m },
];

/**
 * The time of day, and the only files of our programs that may ask for it: to print it, or because somebody has written
 * until when a token is good, until when a cluster is drained, when a window begins in which nodes move one by one, or, at a start, when a Lease was last renewed. What waits or measures uses `Clock`, which nobody sets.
 */
export const TIME_OF_DAY = {
  pattern: /\bDate\.now\b|\b(new )?Date\(\)|\bsetToCurrentTime\b|\b(iso|epoch|unix)Time\b/,
  programs: ["api/**", "common/**", "agent/**", "controller/**", "cli/**"],
  may: [
    "common/log.ts",
    "common/kubernetes/credential-plugin.ts",
    "agent/command/run.ts",
    "agent/observe/observer.ts",
    "controller/command/run.ts",
    "cli/main.ts",
    // A script that runs in a pod.
    "cli/drill/caller.ts",
  ],
} as const;

/** The backends, and the only files of our programs that may name one, besides those in its own folder. */
export const BACKEND_NAMES = {
  names: BACKENDS,
  programs: ["api/**", "common/**", "agent/**"],
  // `nftables` is also a word of nft's JSON.
  may: ["agent/backends/{kinds,names}.ts", "agent/system/nftables/listing.ts"],
} as const;

/** Words that name no noun, as a part of a file's or folder's name. */
export const EMPTY_WORDS = /(^|[-./])(utils?|helpers?|managers?|handlers?|misc)($|[-./])/;

/** Lines beyond which a file is several files. */
export const MOST_LINES = 400;
