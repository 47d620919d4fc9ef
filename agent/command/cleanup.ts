import { FAMILIES } from "../../api/address.ts";
import { codeOf } from "../../common/errors.ts";
import type { Logger } from "../../common/log.ts";
import { FLAVOURS } from "../backends/iptables/flavour.ts";
import { removeOwn } from "../backends/iptables/remove.ts";

/**
 * `cleanup`: removes what is ours from the kernel, whichever backend, flavour or family wrote it. Returns the
 * exit code: 1 if something could not be looked at, though everything else was cleaned.
 */
export async function cleanup(log: Logger): Promise<number> {
  let code = 0;
  let removed = 0;
  for (const flavour of FLAVOURS) {
    for (const family of FAMILIES) {
      try {
        removed += await removeOwn(flavour, family);
      } catch (error) {
        // Tools that are not installed have written nothing.
        if (codeOf(error) === "CSP_EXEC_MISSING") continue;
        log.error("could not clean up", { backend: "iptables", flavour, family, error });
        code = 1;
      }
    }
  }
  log.info(removed === 0 ? "nothing of ours is in the kernel" : "removed what was ours", {
    removed,
  });
  return code;
}
