import type { Family } from "../../api/address.ts";
import type { RejectedExtension } from "../backends/requirements.ts";
import { type Finding, failing, ok, unknown } from "./finding.ts";

/** Whether the node supports the extensions that our rules use; `rejected` is undefined if they could not be tested. */
export function checkExtensions(
  family: Family,
  rejected: readonly RejectedExtension[] | undefined,
): Finding {
  const key = { check: "extensions", family } as const;
  if (rejected === undefined) {
    const advice = "Cannot test extensions in a new network namespace (unshare, CAP_SYS_ADMIN).";
    return unknown(key, advice);
  }
  const [first] = rejected;
  if (first === undefined) return ok(key);
  const each = rejected.map(
    ({ name, lost, message }) => `${name} (needed for ${lost}; ${message})`,
  );
  const advice = `The kernel or iptables rejects ${each.join(", ")}. Load the module (modprobe xt_${first.name}), or install the kernel's extra modules.`;
  return failing(key, "extension-missing", advice);
}
