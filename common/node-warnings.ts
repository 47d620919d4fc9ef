import type { Logger } from "./log.ts";

/** Logs warnings of Node (listener leaks, deprecations), which it would print as text between JSON lines. */
export function logNodeWarnings(log: Logger): void {
  // Node prints them by a listener, too.
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message }) => {
    log.warn("Node.js warning", { warning: name, detail: message });
  });
}
