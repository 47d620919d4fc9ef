import { join } from "node:path";
import { bundle } from "../../scripts/build/bundle.ts";
import type { Lab } from "../lab/lab.ts";

/** The agent as one file, without netlink's native part beside it: it uses the program conntrack. */
export async function withoutNative(lab: Lab): Promise<string[]> {
  const out = join(lab.directory, "agent.mjs");
  await bundle(join(import.meta.dirname, "../../agent/main.ts"), out);
  return [process.execPath, out];
}
