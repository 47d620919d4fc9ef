import { Endpoints } from "../agent/model/endpoints.ts";
import type { EndpointFact, ImportFact, SliceFact } from "../agent/model/facts.ts";
import { objectKey } from "../api/names.ts";
import { importFact, sliceFact } from "../test/generators/facts.ts";

/** How much is loaded. */
export interface Size {
  readonly services: number;
  /** Of each service. */
  readonly endpoints: number;
}

/** A service of one TCP port with one slice, of this cluster and of another node. */
export interface Service {
  readonly vip: string;
  readonly fact: ImportFact;
  readonly slice: SliceFact;
}

const CLUSTER = "c1";
const NODE = "n9";
const REGION = "eu-west";

/** The `n`-th service, from 1 on; its endpoints have the given addresses, or unused ones. */
export function service(n: number, { endpoints }: Size, addresses?: readonly string[]): Service {
  const key = objectKey("bench", `service-${n}`);
  const nowhere = () => Array.from({ length: endpoints }, (_, i) => nobody(n * endpoints + i));
  const slice = sliceFact({
    key: objectKey("bench", `service-${n}-${CLUSTER}`),
    importKey: key,
    cluster: CLUSTER,
    region: REGION,
    endpoints: (addresses ?? nowhere()).map((address) => ({
      address,
      condition: "ready",
      nodeName: NODE,
    })),
  });
  const vip = vipOf(n);
  return { vip, fact: importFact({ key, vips: [vip] }), slice };
}

/** The services from 1 to the last. */
export function services(size: Size): Service[] {
  return Array.from({ length: size.services }, (_, i) => service(i + 1, size));
}

/** The same slice with its `n`-th endpoint, counted in a circle, not ready. */
export function without(slice: SliceFact, n: number): SliceFact {
  const out = n % slice.endpoints.length;
  const endpoints = [...slice.endpoints].map(
    (endpoint, i): EndpointFact => (i === out ? { ...endpoint, condition: "not-ready" } : endpoint),
  );
  return { ...slice, endpoints: Endpoints.of(slice.family, endpoints) };
}

/** Spread over 241.0.0.0/8 as a hash spreads them, no two alike: the factor is odd, the range a power of two. */
export function vipOf(n: number): string {
  const offset = (n * 40_503 * 257 + 1) % 2 ** 24;
  return `241.${(offset >> 16) & 255}.${(offset >> 8) & 255}.${offset & 255}`;
}

/** The `n`-th of a million addresses in 10.128.0.0/9. */
function nobody(n: number): string {
  return `10.${128 + ((n >> 16) & 127)}.${(n >> 8) & 255}.${n & 255}`;
}
