import type { Clock } from "../../../common/clock.ts";
import type { Logger } from "../../../common/log.ts";
import { PeriodicRead } from "../../../common/periodic-read.ts";
import type { Source } from "../source.ts";

/** Milliseconds between two reads. Only the rejection of explicit VIPs depends on it. */
export const POLL_MS = 60_000;
/** Milliseconds until the retry of a failed read. */
export const RETRY_MS = 1000;

/** Options of `interfacesSource`. */
export interface InterfacesOptions {
  /** Addresses of the interfaces of this network namespace. Throws if the process is out of file descriptors. */
  readonly read: () => readonly string[];
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn" | "info">;
}

/** The addresses of the node's interfaces. */
export function interfacesSource({ read, clock, log }: InterfacesOptions): Source {
  const addresses = new PeriodicRead({
    clock,
    every: POLL_MS,
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
