import { VERSION } from "../../common/version.ts";
import { type Finding, findingsOf, findingText } from "../check/findings.ts";
import { placed, readChecked } from "../check/read-cluster.ts";
import { trustedFor, whyUnreachable } from "../clusters/api-address.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { readHub } from "../clusters/read-facts.ts";
import type { Severity } from "../exit-code.ts";
import type { JoinSet } from "../install/join.ts";
import type { HubFacts, Member } from "../install/members.ts";
import { imagesAt } from "../install/workloads.ts";
import { type Printable, printable } from "../output/printable.ts";
import { table } from "../output/table.ts";
import type { Terminal } from "../terminal.ts";
import { imagesOf } from "./clusterset-flags.ts";
import { inEachCluster } from "./each-cluster.ts";
import type { JoinFlags } from "./join-flags.ts";
import { memberFlags } from "./member-flags.ts";

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
  const options = { mostAgents: 0, withRights: false };
  const [{ results: read, failed }, onHubs] = await Promise.all([
    inEachCluster(clusters, terminal, (on) => readChecked(on, options, terminal.signal)),
    inEachCluster(onHub === undefined ? [] : [onHub], terminal, readHub),
  ]);
  if (failed.length > 0 || onHubs.failed.length > 0) return undefined;
  const [hub] = onHubs.results;
  const given = memberFlags(flags);
  const checked = placed(read, given, hub);
  const findings = findingsOf({
    ...{ clusters: checked, hub, clustersetCidrs: clustersetCidr, flags: given },
    join: { id: clusterset, manifests: !skipManifests, dns },
  });
  const images = { ...imagesOf(flags), ...(dnsImage !== undefined && { coredns: dnsImage }) };
  const unknown = checked.flatMap(({ context, facts }) =>
    imagesAt(VERSION, skipManifests ? {} : facts.images, images).faults.map(
      (fault) => `${context}: ${fault}, or leave its programs as they are (--skip-manifests).`,
    ),
  );
  const textsOf = (severity: Severity) =>
    findings
      .filter((one) => one.result === "failing" && one.severity === severity)
      .map(findingText);
  const faults = [...unknownContexts(clusters, flags), ...textsOf("fault"), ...unknown];
  for (const warning of textsOf("warning")) terminal.note(printable`warning: ${warning}\n`);
  for (const note of unknownNotes(findings)) terminal.note(printable`${note}\n`);
  for (const fault of faults) terminal.note(printable`error: ${fault}\n`);
  if (faults.length > 0) return undefined;
  const members = checked.flatMap(({ member, on }): OpenMember[] =>
    member === undefined ? [] : [{ ...member, on }],
  );
  for (const warning of await unreachable(members, onHub, hub, flags))
    terminal.note(printable`warning: ${warning}\n`);
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

/** Names of checks that could not find out, a sentence for each cluster: a join does not wait for them. */
function unknownNotes(findings: readonly Finding[]): string[] {
  const unknown = findings.filter(({ result }) => result === "unknown");
  const byContexts = Map.groupBy(unknown, ({ contexts }) => contexts.join(", "));
  return [...byContexts].map(([contexts, all]) => {
    const names = [...new Set(all.map(({ check }) => check))].join(", ");
    return `${contexts}: not known: ${names} (kubectl clusterset check says more)`;
  });
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

function isLoopback(server: string): boolean {
  return /^(localhost|127\.|\[::1\])/.test(URL.parse(server)?.hostname ?? "");
}

function membersText(members: readonly OpenMember[], terminal: Terminal): Printable {
  const rows = members.map(({ id, context, region, endpointCidrs, rangesFrom, server }) => [
    ...[id, context, region ?? "(none)", `${endpointCidrs} (${rangesFrom})`, server],
  ]);
  return printable`${table(["CLUSTER", "CONTEXT", "REGION", "RANGES OF PODS", "API SERVER FOR OTHERS"], rows, terminal)}\n`;
}
