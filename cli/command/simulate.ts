import { type Command, InvalidArgumentError } from "commander";
import { isClusterId, isLabelName, namesOf, type ObjectKey, objectKey } from "../../api/names.ts";
import { problemText } from "../../api/problem.ts";
import { isUsage, usageText } from "../../common/config/usage.ts";
import { VERSION } from "../../common/version.ts";
import { type AgentFacts, agentFacts, modelOf, nodeGroups } from "../agents/facts.ts";
import { type ManifestFile, withManifests } from "../agents/manifests.ts";
import { type AgentSettings, agentSettings, readAgentObjects } from "../agents/objects.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { type ClusterFlags, namespaceOf, withClusters } from "../clusters/contexts.ts";
import {
  clusterId,
  objectReference,
  textOf,
  withClusterFlags,
  withOutputFlag,
} from "../command-line.ts";
import { EXIT, type ExitCode, exitCodeOf } from "../exit-code.ts";
import { documentText, joined, type Output, oneLine, printable } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";
import { differs, type SimulationResult, simulate, simulationTable } from "../view/simulation.ts";
import { drained, type Scaling, scaled, without } from "../view/what-if.ts";
import { inEachCluster } from "./each-cluster.ts";

interface SimulateFlags extends ClusterFlags {
  readonly without?: readonly string[];
  readonly drain?: readonly string[];
  readonly scale?: readonly Scaling[];
  readonly filename?: readonly string[];
  readonly from?: string;
  readonly namespace?: string;
  readonly all?: boolean;
  readonly output: Output;
}

/** `simulate`: the plans of today against those of then. */
export function addSimulate(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  withOutputFlag(withClusterFlags(program.command("simulate")))
    .summary("who would answer if clusters, endpoints or policies changed")
    .description(
      "Plan all imports of the context's cluster as its agents do, as they are and as they would be, and print what differs. Changes nothing.\n" +
        "Exit code 4: connections that are forwarded today would be rejected; 3: they would go to a last resort.",
    )
    .argument("[imports...]", "NAMESPACE/NAME, or NAME with -n; default: all")
    .option("--without <cluster>", "the cluster is gone (repeatable)", gathered(clusterId))
    .option("--drain <cluster>", "the cluster is drained (repeatable)", gathered(clusterId))
    .option(
      "--scale <ns/name@cluster=n>",
      "so many endpoints are ready there (repeatable)",
      gathered(scaling),
    )
    .option(
      "-f, --filename <file>",
      "ServiceImports and EndpointSlices that are applied (repeatable; - for standard input)",
      gathered(String),
    )
    .option("--from <node>", "as this node sees it; default: one node of each region and zone")
    .option("-n, --namespace <name>", "only imports of this namespace")
    .option("--all", "what does not differ, too")
    .action(async (imports: readonly string[], flags: SimulateFlags) =>
      end(await simulated(imports, flags, terminal)),
    );
}

async function simulated(
  imports: readonly string[],
  flags: SimulateFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const wanted = imports.map((text) => {
    const { namespace, name } = objectReference(text, () => namespaceOf(flags, terminal));
    return objectKey(namespace, name);
  });
  const files = (flags.filename ?? []).map((name) => ({ name, text: textOf(name) }));
  return withClusters(flags, terminal, async (clusters) => {
    const results: SimulationResult[] = [];
    const simulations = await inEachCluster(clusters, terminal, async (cluster) => ({
      context: cluster.context,
      result: await simulatedIn(cluster, { wanted, files, flags }, terminal),
    }));
    let failures = simulations.failed.length;
    for (const { context, result } of simulations.results) {
      if (typeof result !== "string") results.push(result);
      else {
        failures++;
        terminal.note(printable`error: ${context}: ${oneLine(result)}\n`);
      }
    }
    if (results.length === 0) return EXIT.failed;
    if (flags.output === "table") {
      const tables = results.map((one) => simulationTable(one, terminal));
      terminal.out(joined(tables, printable`\n`));
    } else {
      const contexts = results.map(({ context, ports, all }) => ({
        context,
        ports: all ? ports : ports.filter(differs),
      }));
      terminal.out(documentText({ contexts }, flags.output));
    }
    if (failures > 0) return EXIT.failed;
    return exitCodeOf(results.flatMap(({ ports }) => ports.map(({ severity }) => severity)));
  });
}

interface Request {
  readonly wanted: readonly ObjectKey[];
  readonly files: readonly ManifestFile[];
  readonly flags: SimulateFlags;
}

/** A message if it cannot be simulated. */
async function simulatedIn(
  cluster: Cluster,
  { wanted, files, flags }: Request,
  terminal: Terminal,
): Promise<SimulationResult | string> {
  const { context } = cluster;
  const objects = await readAgentObjects(cluster);
  const settings = agentSettings(objects.daemonSets);
  if (isUsage(settings)) return usageText(settings);
  for (const remark of remarksOf(settings)) terminal.note(printable`${context}: ${remark}\n`);
  const { config } = settings;
  const today = agentFacts(objects, config);
  const manifests = withManifests(objects, files);
  if (typeof manifests === "string") return manifests;
  for (const object of manifests.ignored) terminal.note(printable`${context}: ignored ${object}\n`);
  const applied = agentFacts(manifests.objects, config);
  const invalid = applied.problems.find(({ object }) => manifests.applied.has(object));
  if (invalid !== undefined) return problemText(invalid);
  const then = changed(applied, flags);
  if (typeof then === "string") return then;
  const groups = nodeGroups(today, config, flags.from);
  if (isUsage(groups)) return usageText(groups);
  const [before, after] = [modelOf(today, config), modelOf(then, config)];
  const isWanted = (key: ObjectKey): boolean =>
    (wanted.length === 0 || wanted.includes(key)) &&
    (flags.namespace === undefined || namesOf(key).namespace === flags.namespace);
  const keys = [...new Set([...before.keys(), ...after.keys()])].filter(isWanted).sort();
  const missing = wanted.find((key) => !keys.includes(key));
  if (missing !== undefined) return `no ServiceImport ${missing}`;
  const ports = [...simulate(before, after, groups, keys)];
  return { context, ports, groups, all: flags.all === true };
}

/** The facts as they would be; a message if that cannot be known. */
function changed(facts: AgentFacts, flags: SimulateFlags): AgentFacts | string {
  const clusters = new Set([...facts.slices.values()].map((slice) => slice.cluster ?? ""));
  const gone = new Set(flags.without);
  const leaving = new Set(flags.drain);
  const unknown = [...gone, ...leaving].find((cluster) => !clusters.has(cluster));
  if (unknown !== undefined) {
    return `no slice is of cluster ${unknown}; there are ${[...clusters].sort().join(", ") || "none"}`;
  }
  let then: AgentFacts | string = drained(without(facts, gone), leaving);
  for (const scaling of flags.scale ?? []) {
    if (typeof then === "string") return then;
    then = scaled(then, scaling);
  }
  return then;
}

function remarksOf({ unknown, version }: AgentSettings): string[] {
  const remarks: string[] = [];
  if (unknown.length > 0) {
    remarks.push(
      `not known, because the DaemonSet does not state their values: ${unknown.join(", ")}`,
    );
  }
  if (version !== undefined && version !== VERSION) {
    remarks.push(
      `the agents' image is ${version}, this program ${VERSION}: they may decide otherwise`,
    );
  }
  return remarks;
}

/** `shop/web@cluster-2=0`. */
function scaling(value: string): Scaling {
  const [, namespace = "", name = "", cluster = "", ready = ""] =
    /^([^/@=]+)\/([^/@=]+)@([^/@=]+)=(\d{1,5})$/.exec(value) ?? [];
  if (!isLabelName(namespace) || !isLabelName(name) || !isClusterId(cluster)) {
    throw new InvalidArgumentError("Expected NAMESPACE/NAME@CLUSTER=NUMBER.");
  }
  return { importKey: objectKey(namespace, name), cluster, ready: Number(ready) };
}

function gathered<Value>(parse: (text: string) => Value) {
  return (text: string, before: readonly Value[] = []): readonly Value[] => [
    ...before,
    parse(text),
  ];
}
