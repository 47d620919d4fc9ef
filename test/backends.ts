import type { BackendName } from "../agent/backends/names.ts";
import { FAMILIES, type Family } from "../api/address.ts";
import { iptables } from "./backends/iptables.ts";
import { ipvs } from "./backends/ipvs.ts";
import { nftables } from "./backends/nftables.ts";
import type { TestedBackend } from "./backends/tested-backend.ts";
import { SLOWNESS } from "./lab/slowness.ts";
import { PACKET_CASES } from "./packets/cases.ts";
import type { PacketCase } from "./packets/packet-case.ts";

/** The backends of all tests that are run for each: a backend that is missing here does not compile. */
const TESTED = {
  iptables: [iptables("nft"), iptables("legacy")],
  ipvs: [ipvs],
  nftables: [nftables],
} satisfies Record<BackendName, readonly [TestedBackend, ...TestedBackend[]]>;

const ALL = Object.values<readonly TestedBackend[]>(TESTED).flat();

/** True in the virtual machine, which is the only slow one. */
const IN_GUEST = SLOWNESS > 1;

/** The backends whose kernel this is: the same files run on this machine and in the virtual one (test/vm). */
export const BACKENDS: readonly TestedBackend[] = ALL.filter(
  ({ inGuest }) => (inGuest === "all") === IN_GUEST,
);

/** For tests that run with one. */
export const [BACKEND = ipvs] = BACKENDS;

/** A backend and an IP family. */
export interface Setting {
  /** In names of tests. */
  readonly title: string;
  readonly backend: TestedBackend;
  readonly family: Family;
}

/** Each backend with each family, for tests whose stages have one. */
export const SETTINGS: readonly Setting[] = BACKENDS.flatMap((backend) =>
  FAMILIES.map((family) => ({ title: `${backend.title}, ${family}`, backend, family })),
);

/** For the packet table: SCTP is in the virtual machine's kernel only. */
export const PACKET_BACKENDS: readonly TestedBackend[] = IN_GUEST
  ? ALL.filter(({ inGuest }) => inGuest !== "none")
  : BACKENDS;

/** The part of the packet table that runs with a backend. In the virtual machine, only IPVS runs what this machine's kernel has, too. */
export function packetCasesOf({ inGuest }: TestedBackend): readonly PacketCase[] {
  if (!IN_GUEST || inGuest === "all") return PACKET_CASES;
  return PACKET_CASES.filter(({ flows }) => flows.some(({ to }) => to.protocol === "sctp"));
}

/** One of each, for tests that need no kernel. */
export const MODELLED: readonly TestedBackend[] = Object.values(TESTED).map(([first]) => first);

/** For a program that a test starts. */
export function backendTitled(title: string): TestedBackend {
  const found = ALL.find((one) => one.title === title);
  if (found === undefined) throw new Error(`${title}: no such backend`);
  return found;
}
