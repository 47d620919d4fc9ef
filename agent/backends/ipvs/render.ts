import { gcd } from "../../../api/gcd.ts";
import type { Scheduler } from "../../../api/keys.ts";
import type { ObjectKey } from "../../../api/names.ts";
import {
  type ClusterGroup,
  clusterGroups,
  digitsOf,
  type PlannedEndpoint,
  servicePortName,
  type VirtualService,
} from "../../plan/virtual-service.ts";
import {
  type DestinationKey,
  destinationKey,
  MARK,
  type PortKey,
  portKey,
  type Terms,
} from "./vip.ts";

/** IP_VS_SVC_F_PERSISTENT. */
const PERSISTENT = 0x1;
/**
 * IP_VS_SVC_F_SCHED_SH_FALLBACK and IP_VS_SVC_F_SCHED_MH_FALLBACK: a client whose destination drains gets another one, instead
 * of being rejected.
 */
const FALLBACK = 0x8;

/** A desired port. */
export interface DesiredPort {
  readonly importKey: ObjectKey;
  /** `ns/name:port`. */
  readonly servicePort: string;
  readonly terms: Terms;
  /** Destinations of new connections with their weights; if there are none, the guard rejects connections. */
  readonly endpoints: ReadonlyMap<DestinationKey, number>;
  /** Present if connections to other endpoints end at once; as `destination` spells them. */
  readonly keeps?: ReadonlySet<string>;
}

/** The ports of a desired VIP; `kept` for one that stays as it is, whether it exists or not. */
export type DesiredVip = ReadonlyMap<PortKey, DesiredPort | "kept">;

/** The VIPs of the services of one import, by their digits; `kept`: services that stay as they are. `scheduler` is the default. PURE. */
export function renderVips(
  services: readonly VirtualService[],
  kept: readonly VirtualService[],
  scheduler: Scheduler,
): Map<string, DesiredVip> {
  const vips = new Map<string, Map<PortKey, DesiredPort | "kept">>();
  const put = (service: VirtualService, port: DesiredPort | "kept") => {
    for (const vip of digitsOf(service.vips))
      vips.set(vip, (vips.get(vip) ?? new Map()).set(portKey(service), port));
  };
  for (const service of services) put(service, renderPort(service, scheduler));
  for (const service of kept) put(service, "kept");
  return vips;
}

/** A service as a port of each of its VIPs; `scheduler` is the default. PURE. */
export function renderPort(service: VirtualService, scheduler: Scheduler): DesiredPort {
  const { importKey, keeps } = service;
  return {
    importKey,
    servicePort: servicePortName(service),
    terms: termsOf(service, service.scheduler ?? scheduler),
    endpoints: endpointsOf(service),
    ...(keeps !== undefined && { keeps: new Set(keeps) }),
  };
}

/** The kernel accepts any timeout that an import can have: at most a day. */
function termsOf({ affinitySeconds, shares }: VirtualService, asked: Scheduler): Terms {
  const scheduler = kernelScheduler(asked, shares !== undefined);
  const byClient = scheduler === "sh" || scheduler === "mh";
  const flags = MARK | (byClient ? FALLBACK : 0);
  if (affinitySeconds === undefined) return { scheduler, flags, timeout: 0 };
  return { scheduler, flags: flags | PERSISTENT, timeout: affinitySeconds };
}

function endpointsOf(service: VirtualService): DesiredPort["endpoints"] {
  const weights = [...weightsOf(service)].flatMap(([{ address, port }, weight]) =>
    digitsOf([address]).map(
      (digits) => [destinationKey({ address: digits, port }), weight] as const,
    ),
  );
  return new Map(weights);
}

/**
 * The kernel's scheduler for the one that is asked for: `wrr` for `rr`, which is the same while all weights are 1. When a virtual server changes its
 * scheduler, the kernel takes the old one away, waits for RCU, and forwards no new connection meanwhile (ip_vs_edit_service): weights come and go without that.
 * `lc` ignores weights; `sh` and `mh` approximate them.
 */
export function kernelScheduler(asked: Scheduler, hasShares: boolean): Scheduler {
  return asked === "rr" || (hasShares && asked === "lc") ? "wrr" : asked;
}

/** Whether a virtual server of an earlier release, with `rr`, can stay: it need not change while all weights are 1. */
export function isRoundRobin(existing: Terms, desired: Terms, weights: Iterable<number>): boolean {
  const { scheduler, ...rest } = desired;
  const others = existing.flags === rest.flags && existing.timeout === rest.timeout;
  const isEqual = [...weights].every((weight) => weight === 1);
  return existing.scheduler === "rr" && scheduler === "wrr" && others && isEqual;
}

/** Maximum weight: more would be of no use, because `wrr` serves a whole cycle in a fixed order, and the lightest at its end. */
const HIGHEST_WEIGHT = 65_535;

/** The weight of each endpoint: integers in the ratio of their shares, exact unless the ratio is beyond 1 to 65,535; less than 1 is rounded up. PURE. */
export function weightsOf(service: VirtualService): ReadonlyMap<PlannedEndpoint, number> {
  const { endpoints, shares } = service;
  if (shares === undefined) return new Map(endpoints.map((one) => [one, 1]));
  const groups = clusterGroups(service);
  const weights = exact(groups) ?? rounded(groups);
  return new Map(
    groups.flatMap(({ endpoints: own }, i) => own.map((one) => [one, weights[i] ?? 1])),
  );
}

/** Undefined if one would be too large. */
function exact(groups: readonly ClusterGroup[]): number[] | undefined {
  let common = 1;
  for (const { endpoints } of groups) {
    common *= endpoints.length / gcd(common, endpoints.length);
    // Beyond, products would not be exact.
    if (common > Number.MAX_SAFE_INTEGER / HIGHEST_WEIGHT) return undefined;
  }
  const whole = groups.map(({ weight, endpoints }) => weight * (common / endpoints.length));
  const divisor = whole.reduce(gcd);
  const weights = whole.map((weight) => weight / divisor);
  return weights.some((weight) => weight > HIGHEST_WEIGHT) ? undefined : weights;
}

function rounded(groups: readonly ClusterGroup[]): number[] {
  const parts = groups.map(({ weight, endpoints }) => weight / endpoints.length);
  const most = parts.reduce((a, b) => Math.max(a, b));
  return parts.map((part) => Math.max(1, Math.round((part / most) * HIGHEST_WEIGHT)));
}
