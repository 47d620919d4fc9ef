import type { Clock } from "../../../common/clock.ts";
import type { Logger } from "../../../common/log.ts";
import { PeriodicRead } from "../../../common/periodic-read.ts";
import type { Source } from "../source.ts";

/** Milliseconds between two reads, which take up to 11 ms with 100 interfaces on a busy machine. */
export const POLL_MS = 60_000;
/** The same where explicit VIPs are allowed: one that becomes an address of the node captures the node's own traffic until it is seen. */
export const POLL_EXPLICIT_MS = 3_000;
/** Milliseconds until the retry of a failed read. */
export const RETRY_MS = 1000;

/** Options of `interfacesSource`. */
export interface InterfacesOptions {
  /** Addresses of the interfaces of this network namespace. Throws if the process is out of file descriptors. */
  readonly read: () => readonly string[];
  /** True if imports may have explicit VIPs. */
  readonly explicitVips: boolean;
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn" | "info">;
}

/** The addresses of the node's interfaces. */
export function interfacesSource({ read, explicitVips, clock, log }: InterfacesOptions): Source {
  const addresses = new PeriodicRead({
    clock,
    every: explicitVips ? POLL_EXPLICIT_MS : POLL_MS,
    retry: RETRY_MS,
    read: async () => [...read()].sort(),
    failed: (error) =>
      log.warn("Reading node addresses failed; using the last known ones", { error }),
    recovered: () => log.info("Reading node addresses succeeded again"),
  });
  return {
    name: "interfaces",
    start: (events) =>
      addresses.start((list, first) => {
        events.nodeObserved({ addresses: list }, clock.now());
        if (first) events.listed();
      }),
    stop: () => addresses.stop(),
  };
}
