import { createHash } from "node:crypto";
import { containsAny } from "../../../api/cidr.ts";
import {
  clusterGroups,
  digitsOf,
  keysOf,
  type PlannedEndpoint,
  type ServiceKey,
  servicePortName,
  type VirtualService,
} from "../../plan/virtual-service.ts";
import type { Element } from "../../system/nftables/element.ts";
import type { Part } from "../objects.ts";
import { timeoutOf } from "./affinity.ts";
import {
  cut,
  digestOf,
  lastFields,
  type ServiceElements,
  serviceObject,
  withDigest,
} from "./elements.ts";
import { neededChains } from "./extra-chains.ts";
import { chainId, explicitId, type SkeletonOptions, WHOLE } from "./sets.ts";
import { type GroupNumber, groupNumber, sharedNumber, slotsOf } from "./shares.ts";

/** IDs of IPv6 addresses are 32 bits of a hash, from here, so that no ID is the number of a slot. */
const LEAST_ID = 0x10000;

/** An endpoint with its digits. */
interface Target {
  readonly slot: number;
  readonly hex: string;
  readonly port: number;
  readonly comment: string;
}

/** The slots of a service. */
interface Slots {
  /** The number of the service in `services`. */
  readonly number: number;
  readonly targets: readonly Target[];
  /** With shares: the number of its group for each unit of weight, with a comment. */
  readonly units: readonly (readonly [group: number, comment: string])[];
}

/** The objects of the kernel that a service needs: those of each of its VIPs, and chains. */
export function renderService(
  options: SkeletonOptions,
  service: VirtualService,
): Part<ServiceElements | undefined>[] {
  const slots = service.shares === undefined ? equalSlots(service) : sharedSlots(service);
  const { number, units } = slots;
  const name = servicePortName(service);
  const words = `${name} ${service.tier ?? service.reason}`;
  const seconds = number === 0 ? undefined : service.affinitySeconds;
  const groups = units.map(([group]) => group);
  const chains = neededChains({ number, isSticky: seconds !== undefined, groups });
  return [
    ...chains.map((chain) => ({ id: chainId(chain), digest: WHOLE, content: undefined })),
    ...explicitIds(options, service).map((id) => ({ id, digest: WHOLE, content: undefined })),
    ...keysOf(service).map((key) => {
      const sets = seconds === undefined ? bySlot(key, slots) : byAddress(key, slots);
      const digest = digestOf(sets.endpoints, sets.choices);
      const head = {
        ...{ key, value: `${number}` },
        comment: number === 0 ? cut(words) : withDigest(words, digest),
      };
      const affinity =
        seconds === undefined
          ? undefined
          : { key, value: `${timeoutOf(seconds)}`, comment: cut(name) };
      const [endpoints, choices] = [lastFields(sets.endpoints), lastFields(sets.choices)];
      return {
        id: key,
        ...serviceObject({ head, affinity, endpoints, choices, digest }),
        // The same text as the facts have.
        importKey: service.importKey,
        content: { head, affinity, ...sets },
      };
    }),
  ];
}

/** The IDs of all objects of a service but chains, whatever its endpoints are. */
export function idsOf(options: SkeletonOptions, service: VirtualService): string[] {
  return [...keysOf(service), ...explicitIds(options, service)];
}

/** The IDs of its VIPs outside the ClusterSet CIDRs. */
function explicitIds(
  { family, clusterSetCidrs }: SkeletonOptions,
  { vips }: VirtualService,
): string[] {
  return digitsOf(vips)
    .filter((hex) => !containsAny(clusterSetCidrs, { family, text: "", hex }))
    .map(explicitId);
}

function equalSlots(service: VirtualService): Slots {
  const { endpoints } = service;
  const number = endpoints.length;
  return {
    number,
    targets: endpoints.flatMap((one, slot) => targetOf(service, one, slot)),
    units: [],
  };
}

function sharedSlots(service: VirtualService): Slots {
  const groups = clusterGroups(service).map(({ weight, endpoints }, i) => {
    const number: GroupNumber = { group: i + 1, endpoints: endpoints.length };
    const slots = slotsOf(number);
    const targets = endpoints.flatMap((one, j) => targetOf(service, one, slots[j] ?? 0));
    return { weight, number, targets };
  });
  const units = groups.flatMap(({ weight, number, targets }) =>
    Array.from({ length: weight }, () => [groupNumber(number), targets[0]?.comment ?? ""] as const),
  );
  return {
    number: sharedNumber(units.length),
    targets: groups.flatMap(({ targets }) => targets),
    units,
  };
}

function bySlot(key: ServiceKey, slots: Slots) {
  const { targets } = slots;
  return {
    endpoints: [
      ...(slots.units.length > 0 ? fallback(key, slots) : []),
      ...targets.map((target) => endpoint(key, target.slot, target)),
    ],
    choices: unitsOf(key, slots),
  };
}

/** Slots lead to IDs, and IDs to endpoints, so that a client's memory does not depend on the order of endpoints. */
function byAddress(key: ServiceKey, slots: Slots) {
  const taken = new Set<number>();
  const targets = slots.targets.map((target) => ({ ...target, id: idOf(target.hex, taken) }));
  return {
    endpoints: [
      ...fallback(key, slots),
      ...targets.map((target) => endpoint(key, target.id, target)),
    ],
    choices: [
      ...unitsOf(key, slots),
      ...targets.map(({ slot, id, comment }) => choice(key, slot, id, comment)),
    ],
  };
}

/** Slot 0, which rules use if they find no other. */
function fallback(key: ServiceKey, { targets: [first] }: Slots): Element[] {
  return first === undefined ? [] : [endpoint(key, 0, first)];
}

function unitsOf(key: ServiceKey, { units }: Slots): Element[] {
  return units.map(([group, comment], unit) => choice(key, unit, group, comment));
}

function choice(key: ServiceKey, slot: number, value: number, comment: string): Element {
  return { key: `${key} ${slot}`, value: `${value}`, comment };
}

function endpoint(key: ServiceKey, slot: number, { hex, port, comment }: Target): Element {
  return { key: `${key} ${slot}`, value: `${hex} ${port}`, comment };
}

/** The ID of an address, which depends on it alone unless two IPv6 addresses of a service have the same hash. */
function idOf(hex: string, taken: Set<number>): number {
  for (let salt = 0; ; salt++) {
    const digits =
      hex.length === 8 && salt === 0
        ? hex
        : createHash("sha256").update(`${hex} ${salt}`).digest("hex").slice(0, 8);
    const id = Number.parseInt(digits, 16);
    if (id < LEAST_ID || taken.has(id)) continue;
    taken.add(id);
    return id;
  }
}

/** `ns/name:port tier cluster`, and `serving` if no endpoint is ready. */
function targetOf(
  service: VirtualService,
  { address, port, cluster }: PlannedEndpoint,
  slot: number,
): Target[] {
  const state = service.reason === "nearest-serving" ? " serving" : "";
  const origin = `${service.tier} ${cluster ?? "origin-unknown"}${state}`;
  const comment = cut(`${servicePortName(service)} ${origin}`);
  return digitsOf([address]).map((hex) => ({ slot, hex, port, comment }));
}
