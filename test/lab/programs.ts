import { pathToFileURL } from "node:url";
import type { ExecOptions, Namespace } from "./namespace.ts";
import type { Process } from "./process.ts";

/** The programs that labs run, as argument lists for `Namespace.run` and `Namespace.spawn`. */

const IMAGES = `${import.meta.dirname}/../../images`;

/** The server that responds with its name; prints a line with "serving" when it is ready. */
export function serve(...args: readonly string[]): string[] {
  return [process.execPath, `${IMAGES}/serve/serve.ts`, ...args];
}

/** Starts that server in a pod; returns when it is ready. */
export async function startServer(pod: Namespace, ...args: readonly string[]): Promise<Process> {
  const server = pod.spawn(serve(...args));
  await server.line(/serving/);
  return server;
}

/** The client that prints the server of each response. */
export function request(...args: readonly string[]): string[] {
  return [process.execPath, `${IMAGES}/request/request.ts`, ...args];
}

/** Runs the text of a module in a place; returns the values that it prints, each as a line of JSON. `@/agent/…` in it is a file of this repository. */
export async function evaluate(
  place: Namespace,
  script: string,
  options: ExecOptions & { readonly args?: readonly string[] } = {},
) {
  const text = script.replaceAll('"@/', `"${pathToFileURL(`${import.meta.dirname}/../..`).href}/`);
  const argv = [process.execPath, "--input-type=module", "-e", text, "--", ...(options.args ?? [])];
  const lines = (await place.exec(argv, options)).trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}
