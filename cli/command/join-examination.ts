import { LABEL_SERVICE_SLICE } from "../../api/keys.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { ENDPOINT_SLICES, queryOf, SERVICE_EXPORTS } from "../../common/kubernetes/kinds.ts";
import { VERSION } from "../../common/version.ts";
import { trustedFor, whyUnreachable } from "../clusters/api-address.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { readFacts, readHub } from "../clusters/read-facts.ts";
import { chooseDns, dnsNote } from "../install/dns.ts";
import { findingsOf, rejectedEndpoints, serviceOverlaps } from "../install/findings.ts";
import type { JoinSet } from "../install/join.ts";
import { contradictions, type HubFacts, type Member, membersOf } from "../install/members.ts";
import { imagesAt } from "../install/workloads.ts";
import { type Printable, printable } from "../output/printable.ts";
import { table } from "../output/table.ts";
import type { Terminal } from "../terminal.ts";
import { imagesOf } from "./clusterset-flags.ts";
import { inEachCluster } from "./each-cluster.ts";
import { type JoinFlags, memberFlags } from "./join-flags.ts";

/** A cluster with what it is in the clusterset. */
export interface OpenMember extends Member {
  readonly on: Cluster;
}

/** What is to be joined, with its open clusters. */
export interface ExaminedSet extends Omit<JoinSet, "wait"> {
  readonly members: readonly OpenMember[];
  readonly hub?: { readonly on: Cluster; readonly facts: HubFacts } & NonNullable<JoinSet["hub"]>;
}

/** Reads and checks the clusters; undefined if they cannot join, which is then said. */
export async function examined(
  clusters: readonly Cluster[],
  onHub: Cluster | undefined,
  flags: JoinFlags,
  terminal: Terminal,
): Promise<ExaminedSet | undefined> {
  const { clusterset, clustersetCidr, skipManifests = false, dns, dnsImage } = flags;
  const [{ results: facts, failed }, onHubs] = await Promise.all([
    inEachCluster(clusters, terminal, (on) => readFacts(on, terminal.signal)),
    inEachCluster(onHub === undefined ? [] : [onHub], terminal, readHub),
  ]);
  if (failed.length > 0 || onHubs.failed.length > 0) return undefined;
  const [hub] = onHubs.results;
  const unnamed = unknownContexts(clusters, flags);
  const found = membersOf(facts, memberFlags(flags), hub);
  const set = {
    ...{ id: clusterset, members: found.members, hub, clustersetCidrs: clustersetCidr },
    ...{
      mode: hub === undefined ? ("mesh" as const) : ("hub" as const),
      manifests: !skipManifests,
    },
    dns,
  };
  const { faults, warnings } = findingsOf(set);
  const differences = hub === undefined ? contradictions(found.members, memberFlags(flags)) : [];
  const images = { ...imagesOf(flags), ...(dnsImage !== undefined && { coredns: dnsImage }) };
  const unknown = found.members.flatMap(({ context, facts }) =>
    imagesAt(VERSION, skipManifests ? {} : facts.images, images).faults.map(
      (fault) => `${context}: ${fault}, or leave its programs as they are (--skip-manifests).`,
    ),
  );
  const own = [...found.faults, ...faults, ...serviceOverlaps(set), ...differences];
  const all = [...unnamed, ...own, ...unknown];
  for (const warning of warnings) terminal.note(printable`warning: ${warning}\n`);
  for (const fault of all) terminal.note(printable`error: ${fault}\n`);
  if (all.length > 0) return undefined;
  const members = found.members.flatMap((member): OpenMember[] => {
    const on = clusters.find(({ context }) => context === member.context);
    return on === undefined ? [] : [{ ...member, on }];
  });
  const late = await Promise.all([unreachable(members, onHub, hub, flags), rejected(members)]);
  for (const warning of late.flat()) terminal.note(printable`warning: ${warning}\n`);
  for (const { context, facts } of members) {
    const note = dnsNote(context, facts.dns, chooseDns(facts.dns, dns));
    if (note !== undefined) terminal.note(printable`${note}\n`);
  }
  terminal.out(membersText(members, terminal));
  return {
    ...{ clusterset, members, dns, manifests: !skipManifests, version: VERSION },
    images,
    ...(hub &&
      onHub && {
        hub: {
          ...{ on: onHub, context: onHub.context, facts: hub },
          server: flags.hubServer ?? hub.address,
        },
      }),
  };
}

/** A flag for a context that does not join is a mistake in writing. */
function unknownContexts(clusters: readonly Cluster[], flags: JoinFlags): string[] {
  const contexts = new Set(clusters.map(({ context }) => context));
  const { components, ...values } = memberFlags(flags);
  const named = [
    ...Object.values(values).flatMap((one: ReadonlyMap<string, string>) => [...one.keys()]),
    ...components.flatMap(({ context }) => context ?? []),
  ];
  return named
    .filter((context) => !contexts.has(context))
    .map((context) => `${context}: a flag names this context, which does not join.`);
}

/**
 * From here, where another network or a proxy may be between: warnings only. Whether pods of other clusters reach them, probes show.
 */
async function unreachable(
  members: readonly OpenMember[],
  onHub: Cluster | undefined,
  hub: HubFacts | undefined,
  { hubServer }: JoinFlags,
): Promise<string[]> {
  const targets =
    onHub === undefined
      ? members.map(({ on, server, facts }) => ({ on, server, ca: facts.ca }))
      : [{ on: onHub, server: hubServer ?? onHub.address, ca: hub?.ca }];
  const found = await Promise.all(
    targets.map(async ({ on, server, ca }) => {
      if (server === on.address)
        return isLoopback(server)
          ? [`${server} is an address of this machine: pods elsewhere do not reach it.`]
          : [];
      const why = await whyUnreachable(server, await trustedFor(on, server, ca));
      const { context } = on;
      return why === undefined
        ? []
        : [`${context}: ${server} cannot be reached from here: ${why}.`];
    }),
  );
  return found.flat();
}

/** Endpoints of exported Services that other clusters will reject. Warnings only: the others are used. */
async function rejected(members: readonly OpenMember[]): Promise<string[]> {
  const found = await Promise.all(
    members.map(async (member) => {
      const { on, context } = member;
      try {
        const exports = await on.list(queryOf(SERVICE_EXPORTS, { optional: true }));
        if (exports.length === 0) return [];
        const slices = await on.list(
          queryOf(ENDPOINT_SLICES, { labelSelector: LABEL_SERVICE_SLICE }),
        );
        return rejectedEndpoints(member, exports, slices) ?? [];
      } catch (thrown) {
        if (!(thrown instanceof ApiFault)) throw thrown;
        return [
          `${context}: not known whether other clusters accept the endpoints of its exports: ${thrown.message}`,
        ];
      }
    }),
  );
  return found.flat();
}

function isLoopback(server: string): boolean {
  return /^(localhost|127\.|\[::1\])/.test(URL.parse(server)?.hostname ?? "");
}

function membersText(members: readonly OpenMember[], terminal: Terminal): Printable {
  const rows = members.map(({ id, context, region, endpointCidrs, rangesFrom, server }) => [
    ...[id, context, region ?? "(none)", `${endpointCidrs} (${rangesFrom})`, server],
  ]);
  return printable`${table(["CLUSTER", "CONTEXT", "REGION", "RANGES OF PODS", "API SERVER FOR OTHERS"], rows, terminal)}\n`;
}
