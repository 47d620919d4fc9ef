/** The programs that labs run, as argument lists for `Namespace.run` and `Namespace.spawn`. */

const IMAGES = `${import.meta.dirname}/../../images`;

/** The server that says its name; prints a line with "serving" when it is ready. */
export function serve(...args: readonly string[]): string[] {
  return [process.execPath, `${IMAGES}/serve/serve.ts`, ...args];
}

/** The client that tells who answered. */
export function request(...args: readonly string[]): string[] {
  return [process.execPath, `${IMAGES}/request/request.ts`, ...args];
}
