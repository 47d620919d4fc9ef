import type { Scheduler } from "../../../api/scheduler.ts";
import { servicePortName, type VirtualService } from "../../plan/virtual-service.ts";
import { digitsOf } from "../nft/digits.ts";
import { keysOf, type ServiceKey } from "../nft/service-key.ts";
import { kernelScheduler } from "./kernel-scheduler.ts";
import { type DesiredServer, destinationKey, MARK, type Terms } from "./state.ts";
import { weightsOf } from "./weights.ts";

/** IP_VS_SVC_F_PERSISTENT. */
const PERSISTENT = 0x1;
/**
 * IP_VS_SVC_F_SCHED_SH_FALLBACK and IP_VS_SVC_F_SCHED_MH_FALLBACK: a client whose destination drains gets another one, instead
 * of being rejected.
 */
const FALLBACK = 0x8;

/** The virtual servers of one service: one for each of its VIPs. `scheduler` is the default. */
export function renderServers(
  service: VirtualService,
  scheduler: Scheduler,
): (readonly [ServiceKey, DesiredServer])[] {
  const { importKey, keeps } = service;
  const desired: DesiredServer = {
    importKey,
    servicePort: servicePortName(service),
    terms: termsOf(service, service.scheduler ?? scheduler),
    endpoints: endpointsOf(service),
    ...(keeps !== undefined && { keeps: new Set(keeps) }),
  };
  return keysOf(service).map((key) => [key, desired]);
}

/** The kernel accepts any timeout that an import can have: at most a day. */
function termsOf({ affinitySeconds, shares }: VirtualService, asked: Scheduler): Terms {
  const scheduler = kernelScheduler(asked, shares !== undefined);
  const byClient = scheduler === "sh" || scheduler === "mh";
  const flags = MARK | (byClient ? FALLBACK : 0);
  if (affinitySeconds === undefined) return { scheduler, flags, timeout: 0 };
  return { scheduler, flags: flags | PERSISTENT, timeout: affinitySeconds };
}

function endpointsOf(service: VirtualService): DesiredServer["endpoints"] {
  const weights = [...weightsOf(service)].flatMap(([{ address, port }, weight]) =>
    digitsOf([address]).map(
      (digits) => [destinationKey({ address: digits, port }), weight] as const,
    ),
  );
  return new Map(weights);
}
