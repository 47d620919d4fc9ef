import { FAMILIES, type Family } from "../../../api/address.ts";
import type { Scheduler } from "../../../api/keys.ts";
import { PROTOCOLS, type Protocol } from "../../../api/protocol.ts";
import { type Cancel, type Clock, systemClock } from "../../../common/clock.ts";
import { codeOf } from "../../../common/errors.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { NftCommits } from "../../system/nft-commits.ts";
import type { ConnectionCounters, KernelReader, Limits } from "../backend.ts";
import type { BackendConfig, BackendKind, ReadyBackend } from "../backend-kind.ts";
import type { Requirements } from "../requirements.ts";
import { Ipvs } from "./kernel.ts";
import { type KubeProxyReport, kubeProxyObjection } from "./kube-proxy.ts";
import { probeServer } from "./probe.ts";
import { readCounts } from "./read.ts";
import { removeOwn } from "./remove.ts";
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
      const dataplane = new Ipvs({
        ...{ family, clusterSetCidrs, masquerade: { mode, podCidrs }, scheduler },
        ...options,
        commits,
      });
      const counters = {
        counts: (services: readonly VirtualService[], end?: AbortSignal) =>
          readCounts(family, services, end),
      };
      return { dataplane, counters, reader: { held: heldBy(counters) } };
    },
    limits: (family) => trials.limits(family),
    watch: (objected) => watchKubeProxy(config, readKubeProxy, systemClock, objected),
  };
}

/** What IPVS requires of a node, besides what `setUp` checks. VIPs are addresses of the node, so programs need no route to them. */
export const REQUIREMENTS: Requirements = {
  tools: () => [{ program: "nft", query: ["nft", "-v"], install: "Install nftables" }],
  lockFiles: [],
  needsRoute: false,
};

/** Tries the protocols of virtual servers. One that the kernel has accepted is not tried again. */
export class ProtocolTrials {
  readonly #scheduler: Scheduler;
  readonly #accepted = new Set<`${Family} ${Protocol}`>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** What a family cannot do on this node: protocols that the kernel rejects. IPVS always has affinity. Never rejects. */
  async limits(family: Family): Promise<Limits> {
    const protocols = new Set(PROTOCOLS);
    for (const protocol of PROTOCOLS) {
      if (this.#accepted.has(`${family} ${protocol}`)) continue;
      try {
        await probeServer(family, protocol, this.#scheduler);
        this.#accepted.add(`${family} ${protocol}`);
      } catch (error) {
        // Any other error says nothing about the protocol, and the first transaction reports it.
        if (codeOf(error) === "CSP_IPVS_REFUSED") protocols.delete(protocol);
      }
    }
    return { affinity: true, protocols };
  }
}

/** Milliseconds between two checks. */
const INTERVAL = 15_000;

/**
 * Watches for a kube-proxy that deletes our virtual servers: it may start after the agent, or with another configuration. Two
 * checks in a row must agree, because one of its pages may fail once. A kube-proxy that does not respond does not count. Calls
 * `objected` once, with why we must not write to IPVS beside it; the watch then ends.
 */
export function watchKubeProxy(
  {
    clusterSetCidrs,
    kubeProxyExcludeCidrs,
  }: Pick<BackendConfig, "clusterSetCidrs" | "kubeProxyExcludeCidrs">,
  read: () => Promise<KubeProxyReport>,
  clock: Clock,
  objected: (objection: string) => void,
): Cancel {
  let suspected = false;
  let stopped = false;
  const check = async () => {
    const report = await read();
    if (stopped) return;
    const objection =
      report.mode === undefined
        ? undefined
        : kubeProxyObjection(report, clusterSetCidrs, kubeProxyExcludeCidrs);
    if (objection !== undefined && suspected) return objected(objection);
    suspected = objection !== undefined;
    cancel = clock.after(INTERVAL, () => void check());
  };
  let cancel = clock.after(INTERVAL, () => void check());
  return () => {
    stopped = true;
    cancel();
  };
}
