import { type Command, InvalidArgumentError } from "commander";
import { isLabelName } from "../../api/names.ts";
import { fieldAt, textField } from "../../api/parse/fields.ts";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import { queryOf, SERVICE_EXPORTS, SERVICES } from "../../common/kubernetes/kinds.ts";
import { metaOf } from "../../common/kubernetes/object-meta.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { type ClusterFlags, withClusters } from "../clusters/contexts.ts";
import {
  type DryRun,
  dryRunOption,
  type ObjectReference,
  objectReference,
  withClusterFlags,
  withOutputFlag,
} from "../command-line.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import type { Output } from "../output/document.ts";
import { printable } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";
import { Changes } from "./changes.ts";
import { inEachCluster, whyOf } from "./each-cluster.ts";

interface ExportFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly selector?: string;
  readonly dryRun?: DryRun;
  readonly output: Output;
}

/** `export` and `unexport`: ServiceExports of Services, by name or by label. */
export function addExport(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  withExportFlags(program.command("export"))
    .summary("export Services to the clusterset")
    .description(
      "Create a ServiceExport for each Service. Those that are exported stay as they are.",
    )
    .action(async (services: readonly string[], flags: ExportFlags) =>
      end(await forServices(services, flags, terminal, createExport)),
    );
  withExportFlags(program.command("unexport"))
    .summary("withdraw Services from the clusterset")
    .description(
      "Delete the ServiceExport of each Service: its endpoints in this cluster leave the imports of all clusters.",
    )
    .action(async (services: readonly string[], flags: ExportFlags) =>
      end(await forServices(services, flags, terminal, deleteExport)),
    );
}

function withExportFlags(command: Command): Command {
  return withOutputFlag(withClusterFlags(command))
    .argument("[services...]", "NAMESPACE/NAME, or NAME with -n")
    .option("-n, --namespace <name>", "default: default", namespace)
    .option("-l, --selector <labels>", "all Services of the namespace with these labels")
    .addOption(dryRunOption());
}

/** Does something with one Service; returns what it has done. */
type Change = (cluster: Cluster, service: ObjectReference, dryRun: boolean) => Promise<string>;

async function forServices(
  services: readonly string[],
  flags: ExportFlags,
  terminal: Terminal,
  change: Change,
): Promise<ExitCode> {
  if ((services.length === 0) === (flags.selector === undefined)) {
    throw new InvalidArgumentError("Expected names of Services, or -l, and not both.");
  }
  const named = services.map((text) => objectReference(text, flags.namespace));
  const changes = new Changes(terminal, flags.output);
  const act = async (clusters: readonly Cluster[]): Promise<ExitCode> => {
    const { results, failed } = await inEachCluster(clusters, terminal, async (cluster) => {
      const chosen = flags.selector === undefined ? named : await selected(cluster, flags);
      if (chosen.length === 0) terminal.note(printable`${cluster.context}: no Service matches\n`);
      let isWell = true;
      for (const service of chosen) {
        try {
          const done = await change(cluster, service, flags.dryRun !== undefined);
          const note = flags.dryRun === undefined ? "" : " (dry run)";
          const object = `serviceexport/${service.name} in ${service.namespace}`;
          changes.done(cluster, object, `${done}${note}`);
        } catch (thrown) {
          if (!(thrown instanceof ApiFault) || !OF_ONE_OBJECT.includes(thrown.reason)) throw thrown;
          isWell = false;
          terminal.note(printable`error: ${cluster.context}: ${whyOf(cluster, thrown)}\n`);
        }
      }
      return isWell;
    });
    return failed.length === 0 && results.every(Boolean) ? EXIT.well : EXIT.failed;
  };
  return withClusters(flags, terminal, (clusters) => changes.during(() => act(clusters)));
}

/** Reasons of faults that do not concern the other Services of a cluster. */
const OF_ONE_OBJECT: readonly FaultReason[] = [
  ...(["absent", "forbidden", "invalid", "refused", "write-conflict"] as const),
  ...(["namespace-terminating", "webhook-failed"] as const),
];

/** Services with the labels of `-l`. */
async function selected(cluster: Cluster, flags: ExportFlags): Promise<ObjectReference[]> {
  const { selector = "", namespace: within = "default" } = flags;
  const query = queryOf(SERVICES, { namespace: within, labelSelector: selector });
  const found = await cluster.list(query);
  return found.flatMap((service) => {
    const name = textField(fieldAt(service, "metadata"), "name");
    return name === undefined ? [] : [{ namespace: within, name }];
  });
}

const createExport: Change = async ({ objects, context }, service, dryRun) => {
  if ((await objects.get(SERVICES, service)) === undefined) {
    throw new ApiFault(
      "absent",
      `${context}: there is no Service ${service.namespace}/${service.name}`,
    );
  }
  if ((await objects.get(SERVICE_EXPORTS, service)) !== undefined) return "unchanged";
  if (dryRun) return "created";
  try {
    await objects.create(SERVICE_EXPORTS, { metadata: { ...service } });
    return "created";
  } catch (thrown) {
    // Another program has created it meanwhile, or this one by another context of the cluster.
    if (thrown instanceof ApiFault && thrown.reason === "write-conflict") return "unchanged";
    throw thrown;
  }
};

const deleteExport: Change = async ({ objects }, service, dryRun) => {
  const found = await objects.get(SERVICE_EXPORTS, service);
  const meta = found && metaOf(found.object);
  if (meta === undefined) return "not found";
  if (!dryRun) await objects.delete(SERVICE_EXPORTS, service, meta);
  return "deleted";
};

function namespace(value: string): string {
  if (!isLabelName(value)) throw new InvalidArgumentError("Expected the name of a namespace.");
  return value;
}
