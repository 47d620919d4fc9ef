import type { Logger } from "./log.ts";

/**
 * Makes what Node warns of (an emitter that collects listeners, something deprecated) lines of the log. Node would write
 * them to stderr as text, between the lines of JSON that whoever collects logs expects there.
 */
export function logNodeWarnings(log: Logger): void {
  // Node's own way to print them is a listener like any other.
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message }) => {
    log.warn("Node warns of something.", { warning: name, detail: message });
  });
}
