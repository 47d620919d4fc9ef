import type { HeldPort } from "../../agent/backends/backend.ts";
import type { ImportPlan } from "../../agent/plan/import-plan.ts";
import {
  destination,
  servicePortName,
  type VirtualService,
} from "../../agent/plan/virtual-service.ts";

/** Names of endpoints in a difference. */
const MOST_NAMED = 5;

/** Where the agent's plan differs from the one that follows from the API server's objects, each a sentence. PURE. */
export function planDifferences(here: ImportPlan, agents: ImportPlan): string[] {
  const [a, b] = [portsOf(here), portsOf(agents)];
  const found: string[] = [];
  if (here.reason !== agents.reason)
    found.push(
      `the agent's reason is ${agents.reason}, by the API server's objects it is ${here.reason}`,
    );
  for (const name of new Set([...a.keys(), ...b.keys()])) {
    const [expected, planned] = [a.get(name), b.get(name)];
    if (expected === undefined) found.push(`${name}: only the agent has this port`);
    else if (planned === undefined) found.push(`${name}: the agent does not have this port`);
    else found.push(...portDifferences(name, expected, planned));
  }
  return found;
}

/** Facts that the agent alone knows, which explain differences: reasons of its plan, each once. PURE. */
export function knownToAgent({ excluded, remarks = [], services }: ImportPlan): string[] {
  const own = new Set<string>([
    "unanswering",
    "too-many-silent",
    "returning",
    "draining",
    "nearest-unanswering",
  ]);
  const all = [...excluded, ...remarks, ...services].map(({ reason }) => reason);
  return [...new Set(all.filter((reason) => own.has(reason)))].sort();
}

function portDifferences(
  name: string,
  expected: VirtualService,
  planned: VirtualService,
): string[] {
  const text = ({ tier = "no tier", reason }: VirtualService) => `${tier} (${reason})`;
  const found: string[] = [];
  if (text(expected) !== text(planned))
    found.push(
      `${name}: the agent uses ${text(planned)}, by the API server's objects it is ${text(expected)}`,
    );
  const sets = setsDiffer(destinationsOf(expected), destinationsOf(planned));
  if (sets !== undefined)
    found.push(`${name}: ${sets.missing("the agent lacks")}${sets.extra("the agent also has")}`);
  return found;
}

/** Where the kernel differs from what the agent has planned, each a sentence. PURE. */
export function kernelDifferences(plan: ImportPlan, held: readonly HeldPort[]): string[] {
  const byPlace = new Map(held.map((one) => [placeOf(one), one]));
  const isSetAside = (service: VirtualService) =>
    plan.setAside?.some(
      ({ servicePort, protocol, family }) =>
        servicePort === servicePortName(service) &&
        protocol === service.protocol &&
        family === service.family,
    ) ?? false;
  return plan.services.flatMap((service) => {
    // Its own reason says what the kernel has.
    if (isSetAside(service)) return [];
    const { protocol, port } = service;
    return service.vips.flatMap((vip) => {
      const place = placeOf({ vip, protocol, port });
      const found = new Set(byPlace.get(place)?.destinations);
      const sets = setsDiffer(destinationsOf(service), found);
      return sets === undefined
        ? []
        : [`${place}: ${sets.missing("the kernel lacks")}${sets.extra("the kernel also has")}`];
    });
  });
}

function setsDiffer(expected: ReadonlySet<string>, found: ReadonlySet<string>) {
  const missing = [...expected.difference(found)].sort();
  const extra = [...found.difference(expected)].sort();
  if (missing.length === 0 && extra.length === 0) return undefined;
  const both = missing.length > 0 && extra.length > 0 ? "; " : "";
  const named = (words: string, list: readonly string[]) =>
    list.length === 0 ? "" : `${words} ${list.slice(0, MOST_NAMED).join(", ")}${more(list.length)}`;
  return {
    missing: (words: string) => named(words, missing) + both,
    extra: (words: string) => named(words, extra),
  };
}

function more(count: number): string {
  return count > MOST_NAMED ? ` and ${count - MOST_NAMED} more` : "";
}

function destinationsOf({ endpoints }: VirtualService): ReadonlySet<string> {
  return new Set(endpoints.map(({ address, port }) => destination(address, port)));
}

function portsOf({ services }: ImportPlan): Map<string, VirtualService> {
  return new Map(
    services.map((one) => [`${servicePortName(one)} ${one.protocol} ${one.family}`, one]),
  );
}

function placeOf({ vip, protocol, port }: Pick<HeldPort, "vip" | "protocol" | "port">): string {
  return `${destination(vip, port)} ${protocol}`;
}
