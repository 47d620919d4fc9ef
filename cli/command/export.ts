import { type Command, InvalidArgumentError } from "commander";
import { isLabelName } from "../../api/names.ts";
import { field, textField } from "../../api/parse/fields.ts";
import { queryOf, SERVICE_EXPORTS, SERVICES } from "../../common/kubernetes/kinds.ts";
import { apiVersionOf } from "../../common/kubernetes/resource.ts";
import { type ChangeFlags, carryOut, isOfOneObject, type Plan } from "../changes/carry-out.ts";
import { findObject } from "../changes/objects.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { whyOf } from "../clusters/cluster-fault.ts";
import { type ClusterFlags, namespaceOf, withClusters } from "../clusters/contexts.ts";
import {
  type ObjectReference,
  objectReference,
  withChangeFlags,
  withClusterFlags,
} from "../command-line.ts";
import type { ExitCode } from "../exit-code.ts";
import { type Change, objectOf } from "../install/change.ts";
import { printable } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";
import { inEachCluster } from "./each-cluster.ts";

interface ExportFlags extends ClusterFlags, ChangeFlags {
  readonly namespace?: string;
  readonly selector?: string;
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
      end(await forServices("export", services, flags, terminal)),
    );
  withExportFlags(program.command("unexport"))
    .summary("withdraw Services from the clusterset")
    .description(
      "Delete the ServiceExport of each Service: its endpoints in this cluster leave the imports of all clusters.",
    )
    .action(async (services: readonly string[], flags: ExportFlags) =>
      end(await forServices("unexport", services, flags, terminal)),
    );
}

function withExportFlags(command: Command): Command {
  return withChangeFlags(withClusterFlags(command))
    .argument("[services...]", "NAMESPACE/NAME, or NAME with -n")
    .option("-n, --namespace <name>", "default: the context's", namespaceName)
    .option("-l, --selector <labels>", "all Services of the namespace with these labels");
}

type Verb = "export" | "unexport";

async function forServices(
  verb: Verb,
  services: readonly string[],
  flags: ExportFlags,
  whole: Terminal,
): Promise<ExitCode> {
  if ((services.length === 0) === (flags.selector === undefined)) {
    throw new InvalidArgumentError("Expected names of Services, or -l, and not both.");
  }
  const named = services.map((text) => objectReference(text, () => namespaceOf(flags, whole)));
  const makePlan = async (clusters: readonly Cluster[], terminal: Terminal): Promise<Plan> => {
    const { note, signal } = terminal;
    const { results, failed } = await inEachCluster(clusters, terminal, async (on) => {
      if (flags.selector !== undefined) {
        const chosen = await selected(on, namespaceOf(flags, whole), flags.selector);
        if (chosen.length === 0) note(printable`${on.context}: no Service matches\n`);
        return { on, chosen, left: [] };
      }
      if (verb === "unexport") return { on, chosen: named, left: [] };
      const found = await Promise.all(named.map((one) => exported(on, one, signal)));
      const chosen = found.filter((one) => typeof one !== "string");
      return { on, chosen, left: found.filter((one) => typeof one === "string") };
    });
    const isComplete = failed.length === 0 && results.every(({ left }) => left.length === 0);
    for (const { on, left } of results)
      for (const why of left) note(printable`error: ${on.context}: ${why}\n`);
    return {
      changes: results.flatMap(({ on, chosen }) => exportChanges(verb, on.context, chosen)),
      isComplete,
    };
  };
  return withClusters(flags, whole, (clusters) =>
    carryOut(clusters, flags, whole, (terminal) => makePlan(clusters, terminal)),
  );
}

/** A Service that is exported. */
interface ExportedService extends ObjectReference {
  /** Absent where it does not matter. */
  readonly uid?: string;
}

/** The Service, or why it is not exported. Rejects with an ApiFault that concerns all Services. */
async function exported(
  on: Cluster,
  service: ObjectReference,
  signal: AbortSignal,
): Promise<ExportedService | string> {
  const { namespace, name } = service;
  try {
    const object = objectOf("Service", name, namespace);
    const found = await findObject(on, object, { mayLackKinds: false });
    if (found !== undefined) return { namespace, name, uid: found.meta.uid };
    return `there is no Service ${keyOf(service)}`;
  } catch (thrown) {
    signal.throwIfAborted();
    if (!isOfOneObject(thrown)) throw thrown;
    return whyOf(on, thrown);
  }
}

/** The changes of Services of one cluster. PURE. */
function exportChanges(verb: Verb, on: string, services: readonly ExportedService[]): Change[] {
  const { kind, versions } = SERVICE_EXPORTS;
  const apiVersion = apiVersionOf(SERVICE_EXPORTS, versions[0] ?? "");
  return services.map(({ namespace, name, uid }) => {
    // It goes with its Service.
    const owner = uid !== undefined && { apiVersion: "v1", kind: "Service", name, uid };
    const metadata = { namespace, name, ...(owner && { ownerReferences: [owner] }) };
    const place = { on, stage: 0, object: { apiVersion, kind, metadata } };
    return verb === "export"
      ? { ...place, act: "put", unless: "exists" }
      : { ...place, act: "remove" };
  });
}

function keyOf({ namespace, name }: ObjectReference): string {
  return `${namespace}/${name}`;
}

/** Services with the labels of `-l`. */
async function selected(
  cluster: Cluster,
  namespace: string,
  labelSelector: string,
): Promise<ExportedService[]> {
  const query = queryOf(SERVICES, { namespace, labelSelector });
  const found = await cluster.list(query);
  return found.flatMap((service) => {
    const metadata = field(service, "metadata");
    const [name, uid] = [textField(metadata, "name"), textField(metadata, "uid")];
    return name === undefined ? [] : [{ namespace, name, ...(uid !== undefined && { uid }) }];
  });
}

function namespaceName(value: string): string {
  if (!isLabelName(value)) throw new InvalidArgumentError("Expected the name of a namespace.");
  return value;
}
