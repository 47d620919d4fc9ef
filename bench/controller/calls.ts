import type { Asked } from "../../test/apiserver/audit.ts";

/** Numbers of requests by verb and resource: `patch endpointslices`, `update leases`, `patch serviceimports/status`. */
export type Calls = ReadonlyMap<string, number>;

const READS = new Set(["get", "list", "watch"]);
/** What a controller always writes. */
const LEASES = "leases";

/** Counts requests by verb and resource, the most frequent first. */
export function callsIn(asked: readonly Asked[]): Calls {
  const calls = new Map<string, number>();
  for (const { verb, uri } of asked) {
    const what = `${verb} ${resourceOf(uri)}`;
    calls.set(what, (calls.get(what) ?? 0) + 1);
  }
  return new Map([...calls].sort(([, a], [, b]) => b - a));
}

/** What has come since these were counted. */
export function callsSince(before: Calls, after: Calls): Calls {
  const since = [...after].map(([what, n]) => [what, n - (before.get(what) ?? 0)] as const);
  return new Map(since.filter(([, n]) => n > 0).sort(([, a], [, b]) => b - a));
}

/** Those that write anything but Leases. */
export function writesOf(calls: Calls): Calls {
  return only(calls, (verb, resource) => !READS.has(verb) && resource !== LEASES);
}

/** Those that a controller at rest has no reason for: neither watches nor renewals of Leases. */
export function restlessOf(calls: Calls): Calls {
  return only(calls, (verb, resource) => verb !== "watch" && resource !== LEASES);
}

/** All of them together. */
export function sumOf(calls: Calls): number {
  return calls.values().reduce((sum, n) => sum + n, 0);
}

/** `2 patch endpointslices, 0.1 get leases`: each divided by `times`. */
export function callsText(calls: Calls, times = 1): string {
  const texts = [...calls].map(([what, n]) => `${rounded(n / times)} ${what}`);
  return texts.join(", ") || "nothing";
}

/** At most two digits after the point, and none that say nothing. */
export function rounded(n: number): string {
  return String(Number(n.toFixed(2)));
}

/** `endpointslices`, `serviceimports/status`: what a path of an API server is about. */
export function resourceOf(uri: string): string {
  const [path = ""] = uri.split("?");
  const parts = path.split("/").slice(path.startsWith("/api/") ? 3 : 4);
  const isInNamespace = parts[0] === "namespaces" && parts.length > 2;
  const [resource = path, , subresource] = isInNamespace ? parts.slice(2) : parts;
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}

function only(calls: Calls, such: (verb: string, resource: string) => boolean): Calls {
  return new Map(
    [...calls].filter(([what]) => {
      const [verb = "", resource = ""] = what.split(" ");
      return such(verb, resource);
    }),
  );
}
