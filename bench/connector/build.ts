import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Builds client and server into a directory; returns the path of the program. */
export async function buildConnector(directory: string): Promise<string> {
  const program = join(directory, "connector");
  const find = join(import.meta.dirname, "../../test/kubernetes/find-go");
  const { stdout } = await run(find);
  const source = join(import.meta.dirname, "main.go");
  const env = { ...process.env, CGO_ENABLED: "0", GOTOOLCHAIN: "local" };
  await run(stdout.trim(), ["build", "-o", program, source], { env });
  return program;
}

/** The command of a server on port 8080 that answers with the number of the place that each address belongs to. */
export function serveCommand(program: string, places: readonly (readonly string[])[]): string[] {
  const names = places.flatMap((own, n) => own.map((address) => `${n}=${address}`));
  return [program, "serve", "8080", ...names];
}
