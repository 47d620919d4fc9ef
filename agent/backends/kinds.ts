import type { BackendKind } from "./backend-kind.ts";
import { iptables } from "./iptables/kind.ts";
import { ipvs } from "./ipvs/kind.ts";
import type { BackendName } from "./names.ts";
import { nftables } from "./nftables/kind.ts";

/** All backends. README.md says how to add one. */
export const KINDS: Readonly<Record<BackendName, BackendKind>> = { iptables, ipvs, nftables };
