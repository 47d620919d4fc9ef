/** The first CoreDNS whose plugin `kubernetes` serves a multi-cluster zone without a fault: coredns#7266 is mended there. */
const FIRST = [1, 12, 2] as const;

/** Whether the CoreDNS of an image serves `clusterset.local`; an older one ends at a Corefile with `multicluster`. */
export type NamesSupport = "yes" | "no" | "unknown";

/** Reads the version in an image's tag: `v1.11.4-eksbuild.2`, `1.12.2`. Other tags and digests say nothing. PURE. */
export function namesSupport(image: string): NamesSupport {
  const [, ...parts] = /:v?(\d+)\.(\d+)\.(\d+)(?:[-+][^:/@]*)?(?:@[^@]*)?$/.exec(image) ?? [];
  if (parts.length === 0) return "unknown";
  for (const [i, least] of FIRST.entries()) {
    const found = Number(parts[i]);
    if (found !== least) return found > least ? "yes" : "no";
  }
  return "yes";
}

/** For messages. */
export const FIRST_CORE_DNS: string = FIRST.join(".");
