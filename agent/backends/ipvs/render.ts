import type { Scheduler } from "../../../api/scheduler.ts";
import { servicePortName, type VirtualService } from "../../plan/virtual-service.ts";
import {
  type DestinationKey,
  destinationKey,
  digitsOf,
  MARK,
  type ServerKey,
  serverKey,
  type Terms,
  type WantedServer,
} from "./state.ts";

/** IP_VS_SVC_F_PERSISTENT. */
const PERSISTENT = 0x1;
/**
 * IP_VS_SVC_F_SCHED_SH_FALLBACK and IP_VS_SVC_F_SCHED_MH_FALLBACK: a client whose destination takes nothing new gets
 * another one; it would be refused.
 */
const FALLBACK = 0x8;

/** The virtual servers of one service: one for each of its VIPs. `scheduler`: unless it names one itself. */
export function renderServers(
  service: VirtualService,
  scheduler: Scheduler,
): (readonly [ServerKey, WantedServer])[] {
  const { protocol, port, importKey, listed } = service;
  const wanted: WantedServer = {
    importKey,
    servicePort: servicePortName(service),
    terms: termsOf(service, service.scheduler ?? scheduler),
    endpoints: endpointsOf(service),
    ...(listed !== undefined && { listed: new Set(listed) }),
  };
  return digitsOf(service.vips).map((address) => [serverKey({ address, protocol, port }), wanted]);
}

/** Kernels count persistence in 1/100 s or finer and refuse none; a day is the longest that an import may ask for. */
function termsOf({ affinitySeconds }: VirtualService, scheduler: Scheduler): Terms {
  const byClient = scheduler === "sh" || scheduler === "mh";
  const flags = MARK | (byClient ? FALLBACK : 0);
  if (affinitySeconds === undefined) return { scheduler, flags, timeout: 0 };
  return { scheduler, flags: flags | PERSISTENT, timeout: affinitySeconds };
}

function endpointsOf({ endpoints }: VirtualService): DestinationKey[] {
  return endpoints.flatMap(({ address, port }) =>
    digitsOf([address]).map((digits) => destinationKey({ address: digits, port })),
  );
}
