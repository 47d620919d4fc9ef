import { EXPORT } from "../../test/apiserver/controller-stage.ts";
import { endpointOf } from "../object-server.ts";
import { ENDPOINTS } from "../options.ts";
import { LIVE, NAMESPACE, nameOf, SERVICES } from "../shape.ts";

/** Sets of addresses of the service that changes, so that this many changes can be distinguished. */
export const PLACES = 60;
/** Where those addresses are: on one node of cluster c1. */
export const SERVERS_CIDR = "10.1.128.0/17";
/** More than any cluster has services. */
const APART = 3_000;

/** The Service that changes, with its slice, and its export. */
export function liveObjects(): object[] {
  return [SERVICES.live(), liveSlice(0), exportOf(LIVE)];
}

/** Its slice while it is at the `n`-th place. */
export function liveSlice(n: number): object {
  return SERVICES.slice(
    LIVE,
    addressesOf(n).map((address) => ({ address, ready: true })),
  );
}

/** The addresses of the `n`-th place, no two alike. */
export function addressesOf(n: number): string[] {
  return Array.from({ length: ENDPOINTS }, (_, i) => `10.1.${129 + n}.${11 + i}`);
}

/**
 * Services from 1 on with their slices, as kube-controller-manager writes them, and their exports: of the same names in
 * each cluster, so that every cluster has a part in every import. `cluster`: its number.
 */
export function* exportedObjects(cluster: number, services: number): Generator<object> {
  for (let n = 1; n <= services; n++) {
    const first = (cluster * APART + n) * ENDPOINTS;
    yield SERVICES.other(n);
    yield {
      ...SERVICES.slice(nameOf(n), []),
      endpoints: Array.from({ length: ENDPOINTS }, (_, i) => endpointOf(first + i)),
    };
    yield exportOf(nameOf(n));
  }
}

function exportOf(name: string): object {
  return { ...EXPORT, metadata: { namespace: NAMESPACE, name } };
}
