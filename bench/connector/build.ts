import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const BUILD = join(import.meta.dirname, "../../test/kubernetes/build");

/** Builds client and server, unless they are built already; returns the path of the program. */
export async function buildConnector(): Promise<string> {
  const { stdout } = await promisify(execFile)(BUILD, ["connector"]);
  return stdout.trim();
}

/** The command of a server on port 8080 that answers with the number of the place that each address belongs to. */
export function serveCommand(program: string, places: readonly (readonly string[])[]): string[] {
  const names = places.flatMap((own, n) => own.map((address) => `${n}=${address}`));
  return [program, "serve", "8080", ...names];
}
