import { createHash } from "node:crypto";
import {
  type PlannedEndpoint,
  servicePortName,
  type VirtualService,
} from "../../plan/virtual-service.ts";
import type { Element } from "../../system/nftables/element.ts";
import { digitsOf } from "../nft/digits.ts";
import type { ServiceKey } from "../nft/service-key.ts";
import { timeoutOf } from "./affinity.ts";
import { cut, digestOf, withDigest } from "./digest.ts";
import { USUAL_SLOTS } from "./skeleton.ts";
import type { DesiredService } from "./state.ts";

/** IDs of IPv6 addresses are 32 bits of a hash, from here, so that no ID is the number of a slot. */
const LEAST_ID = 0x10000;

/** An endpoint with its digits. */
interface Target {
  readonly hex: string;
  readonly port: number;
  readonly comment: string;
}

/** The elements of one service: those of each of its VIPs. */
export function renderService(service: VirtualService): (readonly [ServiceKey, DesiredService])[] {
  const targets = service.endpoints.flatMap((endpoint) => targetOf(service, endpoint));
  const slots = targets.length;
  const name = servicePortName(service);
  const words = `${name} ${service.tier ?? service.reason}`;
  const seconds = service.affinitySeconds;
  return digitsOf(service.vips).map((vip) => {
    const key = `${vip} ${service.protocol} ${service.port}`;
    const sticky = seconds !== undefined && slots > 0 ? timeoutOf(seconds) : undefined;
    const parts = sticky === undefined ? bySlot(key, targets) : byAddress(key, targets);
    const digest = digestOf(parts.endpoints, parts.choices);
    const comment = slots === 0 ? cut(words) : withDigest(words, digest);
    return [
      key,
      {
        head: { key, value: `${slots}`, comment },
        affinity:
          sticky === undefined ? undefined : { key, value: `${sticky}`, comment: cut(name) },
        ...parts,
        digest,
        chains: chainsOf(slots, sticky),
      },
    ];
  });
}

function bySlot(key: ServiceKey, targets: readonly Target[]) {
  return { endpoints: targets.map((target, slot) => endpoint(key, slot, target)), choices: [] };
}

/** Slots lead to IDs, and IDs to endpoints, so that a client's memory does not depend on the order of endpoints. Slot 0 is the fallback. */
function byAddress(key: ServiceKey, targets: readonly Target[]) {
  const taken = new Set<number>();
  const ids = targets.map(({ hex }) => idOf(hex, taken));
  const [first] = targets;
  return {
    endpoints: [
      ...(first === undefined ? [] : [endpoint(key, 0, first)]),
      ...targets.map((target, i) => endpoint(key, ids[i] ?? 0, target)),
    ],
    choices: targets.map(({ comment }, slot) => ({
      key: `${key} ${slot}`,
      value: `${ids[slot]}`,
      comment,
    })),
  };
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

function chainsOf(slots: number, sticky: number | undefined): string[] {
  if (sticky !== undefined) return [`hash-${slots}`, `sticky-${sticky}`];
  return slots > USUAL_SLOTS ? [`pick-${slots}`] : [];
}

/** `ns/name:port tier cluster`, and `serving` if no endpoint is ready. */
function targetOf(service: VirtualService, { address, port, cluster }: PlannedEndpoint): Target[] {
  const state = service.reason === "nearest-serving" ? " serving" : "";
  const origin = `${service.tier} ${cluster ?? "origin-unknown"}${state}`;
  const comment = cut(`${servicePortName(service)} ${origin}`);
  return digitsOf([address]).map((hex) => ({ hex, port, comment }));
}
