/** The programs that labs run, as argument lists for `Namespace.run` and `Namespace.spawn`. */

const IMAGES = `${import.meta.dirname}/../../images`;

/** The server that responds with its name; prints a line with "serving" when it is ready. */
export function serve(...args: readonly string[]): string[] {
  return [process.execPath, `${IMAGES}/serve/serve.ts`, ...args];
}

/** The client that prints the server of each response. */
export function request(...args: readonly string[]): string[] {
  return [process.execPath, `${IMAGES}/request/request.ts`, ...args];
}
