import type { Vips } from "../allocate/vips.ts";
import type { Claim, Condition } from "../model/condition.ts";

/** Claim of an import that clients reach by DNS alone. */
export const HEADLESS_READY: Claim = {
  type: "Ready",
  status: "True",
  reason: "Ready",
  message: "Headless: DNS leads to its endpoints.",
};

/**
 * Claim of an import with, or without, VIPs. Words of KEP-1645: without a VIP it is `IPFamilyNotSupported` where no
 * range of its families is configured, and else `Pending`; the message begins with our own word for it.
 */
export function readyClaim({ vips, lacking }: Vips): Claim {
  const lacks = [...lacking].map(([family, lack]) => `${lack}: no ${family} address.`);
  if (vips.length > 0) {
    const ips = `ClusterSetIP ${vips.map(({ text }) => text).join(", ")}.`;
    return { ...HEADLESS_READY, message: [ips, ...lacks].join(" ") };
  }
  const supported = lacking.values().some((lack) => lack !== "range-missing");
  return {
    type: "Ready",
    status: "False",
    reason: supported ? "Pending" : "IPFamilyNotSupported",
    message: lacks.join(" "),
  };
}

/** True for what `readyClaim` says of an import without a VIP: nobody else's word is taken back. */
export function isLack({ type, status, message }: Condition): boolean {
  return type === "Ready" && status === "False" && /^range-(exhausted|missing): /.test(message);
}
