import { type Command, InvalidArgumentError, Option } from "commander";
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from "../../api/keys.ts";
import { isLabelName } from "../../api/names.ts";
import { isUsage } from "../../common/config/usage.ts";
import {
  CLUSTER_PROPERTIES,
  DAEMON_SETS,
  DEPLOYMENTS,
  ENDPOINT_SLICES,
  IP_ADDRESSES,
  NAMESPACES,
  queryOf,
  SERVICE_EXPORTS,
  SERVICE_IMPORTS,
  SERVICES,
} from "../../common/kubernetes/kinds.ts";
import { agentSettings } from "../agents/objects.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { type ClusterFlags, withClusters } from "../clusters/contexts.ts";
import { withClusterFlags, withOutputFlag } from "../command-line.ts";
import { EXIT, type ExitCode, exitCodeOf } from "../exit-code.ts";
import { INSTALL_NAMESPACE } from "../install/workloads.ts";
import { type Found, type FoundObject, foundObject } from "../migrate/found.ts";
import {
  type Migration,
  manifestsOf,
  migrationText,
  OBJECT_STEPS,
  type ObjectStep,
  SOURCES,
  type Source,
  type SourceKind,
  severityOf,
  stepsOf,
} from "../migrate/migration.ts";
import { addressRules } from "../migrate/objects.ts";
import { FROM } from "../migrate/sources.ts";
import {
  documentText,
  joined,
  type Output,
  type Printable,
  printable,
} from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";
import { inEachCluster } from "./each-cluster.ts";

interface MigrateFlags extends ClusterFlags {
  readonly from: Source;
  readonly step?: ObjectStep;
  readonly namespace?: string;
  readonly output: Output;
}

/** Slices that are of no ServiceImport, and that other implementations add to Services. */
const ADDED = [
  "endpointslice-dispatch-controller.karmada.io",
  "endpointslice-mesh-controller.cilium.io",
];

/** `migrate`: what another implementation has made, and how to have it here. */
export function addMigrate(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  withOutputFlag(withClusterFlags(program.command("migrate")))
    .summary("come from another implementation, step by step")
    .description(
      "Print what happens to the objects of another implementation, what has no counterpart here, and the steps to it. Changes and deletes nothing.\n" +
        "-o yaml prints the objects of one step for kubectl apply.\n" +
        "Exit code 4: the clusters cannot be migrated as they are; 3: something has no counterpart, or is to be done after a step.",
    )
    .addOption(
      new Option("--from <implementation>", "where you come from")
        .choices(SOURCES)
        .makeOptionMandatory(),
    )
    .addOption(new Option("--step <step>", "with -o yaml: whose objects").choices(OBJECT_STEPS))
    .option("-n, --namespace <name>", "objects of this namespace only", namespaceName)
    .action(async (flags: MigrateFlags) => end(await migrate(flags, terminal)));
}

async function migrate(flags: MigrateFlags, terminal: Terminal): Promise<ExitCode> {
  const { from, output, step } = flags;
  if ((output === "yaml") !== (step !== undefined)) {
    throw new InvalidArgumentError(
      "-o yaml and --step belong together: objects of later steps must not be applied yet.",
    );
  }
  const kind = FROM[from];
  return withClusters(flags, terminal, async (clusters) => {
    if (step !== undefined && clusters.length !== 1) {
      throw new InvalidArgumentError(
        "-o yaml prints the objects of one cluster: name one --context.",
      );
    }
    const { results: all, failed } = await inEachCluster(clusters, terminal, async (one) =>
      kind.migrate(await read(one, flags)),
    );
    if (failed.length > 0) {
      if (step === undefined) printPart(kind, all, flags, terminal);
      return EXIT.failed;
    }
    const severities = all.flatMap(({ findings }) => findings.map(severityOf));
    const isNothing = severities.length === 0;
    const steps = isNothing || severities.includes("fault") ? [] : stepsOf(kind, all);
    if (step !== undefined) terminal.out(yamlOf(all, step));
    else if (output === "json") terminal.out(documentText({ from, contexts: all, steps }, output));
    else terminal.out(migrationText(kind, all, steps, terminal));
    return isNothing ? EXIT.warning : step === undefined ? exitCodeOf(severities) : EXIT.well;
  });
}

/** Prints what the clusters that answered have, without steps: those for a part of the clusters would be in the wrong order. */
function printPart(
  kind: SourceKind,
  all: readonly Migration[],
  { from, output }: MigrateFlags,
  { out, note, ...screen }: Terminal,
): void {
  if (output === "json") out(documentText({ from, contexts: all, steps: [] }, output));
  else if (all.some(({ findings }) => findings.length > 0))
    out(migrationText(kind, all, [], screen));
  note(printable`No steps: their order needs what all clusters have.\n`);
}

function yamlOf(all: readonly Migration[], step: ObjectStep): Printable {
  const manifests = all.flatMap((one) => manifestsOf(one, step));
  return joined(
    manifests.map((one) => documentText(one, "yaml")),
    printable`---\n`,
  );
}

/** Lists what a migration looks at. Rejects with an ApiFault. */
async function read(cluster: Cluster, { namespace }: MigrateFlags): Promise<Found> {
  const within = namespace === undefined ? {} : { namespace };
  const optional = { ...within, optional: true };
  const [
    services,
    exports,
    imports,
    slices,
    added,
    properties,
    namespaces,
    deployments,
    daemonSets,
    held,
  ] = await Promise.all([
    objects(cluster, queryOf(SERVICES, within)),
    objects(cluster, queryOf(SERVICE_EXPORTS, optional)),
    objects(cluster, queryOf(SERVICE_IMPORTS, optional)),
    objects(cluster, queryOf(ENDPOINT_SLICES, { ...within, labelSelector: LABEL_SERVICE_NAME })),
    objects(
      cluster,
      queryOf(ENDPOINT_SLICES, {
        ...within,
        labelSelector: `${LABEL_MANAGED_BY} in (${ADDED.join()}),!${LABEL_SERVICE_NAME}`,
      }),
    ),
    objects(cluster, queryOf(CLUSTER_PROPERTIES, { optional: true })),
    objects(cluster, queryOf(NAMESPACES)),
    objects(cluster, queryOf(DEPLOYMENTS)),
    objects(cluster, queryOf(DAEMON_SETS)),
    objects(cluster, queryOf(IP_ADDRESSES, { optional: true })),
  ]);
  const agent = daemonSets.find(
    (one) => one.namespace === INSTALL_NAMESPACE && one.name === "clusterset-agent",
  );
  const settings = agent && agentSettings([agent.raw]);
  const cidrs =
    settings === undefined || isUsage(settings) ? undefined : settings.config.clusterSetCidrs;
  const names = namespaces.filter(({ name }) => namespace === undefined || name === namespace);
  return {
    context: cluster.context,
    services,
    exports,
    imports,
    slices: [...slices, ...added],
    properties,
    namespaces: names,
    workloads: [...deployments, ...daemonSets],
    ...(cidrs !== undefined && { addresses: addressRules(cidrs, imports, held) }),
  };
}

async function objects(
  cluster: Cluster,
  query: Parameters<Cluster["list"]>[0],
): Promise<FoundObject[]> {
  return (await cluster.list(query)).flatMap((one) => foundObject(one) ?? []);
}

function namespaceName(value: string): string {
  if (!isLabelName(value)) throw new InvalidArgumentError("Expected the name of a namespace.");
  return value;
}
