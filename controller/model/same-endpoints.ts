import type { EndpointFact } from "./facts.ts";

/** True if two lists are equal. */
export function sameEndpoints(a: readonly EndpointFact[], b: readonly EndpointFact[]): boolean {
  return a.length === b.length && a.every((endpoint, i) => same(endpoint, b[i]));
}

function same(a: EndpointFact, b: EndpointFact | undefined): boolean {
  return (
    b !== undefined &&
    a.address === b.address &&
    a.ready === b.ready &&
    a.serving === b.serving &&
    a.terminating === b.terminating &&
    a.hostname === b.hostname &&
    a.nodeName === b.nodeName &&
    a.zone === b.zone
  );
}
