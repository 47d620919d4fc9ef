import type { Logger } from "../../common/log.ts";
import { removeLeftovers } from "./leftovers.ts";

/**
 * `cleanup`: removes everything of ours from the kernel, whichever flavour or family it is in. Returns the
 * exit code: 1 if something could not be looked at.
 */
export async function cleanup(log: Logger): Promise<number> {
  const { objects, failed } = await removeLeftovers(log);
  if (objects === 0 && !failed) log.info("There is nothing of ours in the kernel.");
  return failed ? 1 : 0;
}
