import { FAMILIES } from "../../../api/address.ts";
import { systemClock } from "../../../common/clock.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { NftCommits } from "../../system/nft-commits.ts";
import type { ConnectionCounters, KernelReader } from "../backend.ts";
import type { BackendConfig, BackendKind, ReadyBackend } from "../backend-kind.ts";
import { IpvsBackend } from "./backend.ts";
import { watchKubeProxy } from "./kube-proxy-watch.ts";
import { ProtocolTrials } from "./limits.ts";
import { readCounts } from "./read.ts";
import { removeOwn } from "./remove.ts";
import { REQUIREMENTS } from "./requirements.ts";
import { readKubeProxy, setUp } from "./support.ts";

/** The IPVS backend. */
export const ipvs: BackendKind = {
  prepare: async (config, log, stop) => {
    const { lacks, changed, usedBefore } = await setUp(config, stop);
    for (const { name, before, after } of changed) {
      log.info("Changed a kernel setting for IPVS", { setting: name, before, after });
    }
    if (stop.aborted) return undefined;
    return lacks.length === 0 ? ready(config) : { reason: "ipvs-unusable", lacks, usedBefore };
  },

  assume: ready,

  leftovers: ({ ranges, inUse, stop }) =>
    FAMILIES.map((family) => ({
      variant: {},
      family,
      // Both families have one device.
      remove: () => removeOwn(family, { ranges, keepDevice: inUse === "this", stop }),
    })),
};

/** Servers without destinations do not exist: a port that rejects connections is in the guard alone. */
function heldBy(counters: ConnectionCounters): KernelReader["held"] {
  return async (services, stop) => {
    const inUse = (await counters.counts(services, stop)).filter(({ weight }) => weight > 0);
    const ports = Map.groupBy(inUse, ({ vip, protocol, port }) => `${vip} ${protocol} ${port}`);
    return [...ports.values()].flatMap((found) =>
      found.slice(0, 1).map(({ vip, protocol, port }) => {
        const destinations = found.map(({ destination }) => destination).sort();
        return { vip, protocol, port, destinations };
      }),
    );
  };
}

function ready(config: BackendConfig): ReadyBackend {
  const { masquerade: mode, podCidrs, ipvsScheduler: scheduler } = config;
  const trials = new ProtocolTrials(scheduler);
  const commits = new NftCommits();
  return {
    variant: {},
    requirements: REQUIREMENTS,
    open: (family, clusterSetCidrs, options) => {
      const backend = new IpvsBackend({
        ...{ family, clusterSetCidrs, masquerade: { mode, podCidrs }, scheduler },
        ...options,
        commits,
      });
      const counters = {
        counts: (services: readonly VirtualService[], end?: AbortSignal) =>
          readCounts(family, services, end),
      };
      return { backend, counters, reader: { held: heldBy(counters) } };
    },
    limits: (family) => trials.limits(family),
    watch: (objected) => watchKubeProxy(config, readKubeProxy, systemClock, objected),
  };
}
