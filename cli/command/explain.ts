import type { Command } from "commander";
import type { ObjectKey } from "../../api/names.ts";
import { problemText } from "../../api/problem.ts";
import { isUsage, usageText } from "../../common/config/usage.ts";
import { metaOf } from "../../common/kubernetes/object-meta.ts";
import { agentFacts, modelOf, nodeFactOf } from "../agents/facts.ts";
import { readAgentObjects } from "../agents/objects.ts";
import { agentSettings } from "../agents/settings.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { type ClusterFlags, withClusters } from "../clusters/contexts.ts";
import { withClusterFlags, withOutputFlag } from "../command-line.ts";
import { EXIT, type ExitCode, exitCodeOf } from "../exit-code.ts";
import { documentText, type Output } from "../output/document.ts";
import { joined, oneLine, printable } from "../output/printable.ts";
import { ownerOf } from "../programs/address-owner.ts";
import { podsOf } from "../programs/pods.ts";
import { readClusterIp } from "../programs/read-cluster-ip.ts";
import { agentPages, dnsOf, exportRemarks, nodeRemarks } from "../programs/read-explanation.ts";
import type { Terminal } from "../terminal.ts";
import { explainedClusterIp, isFailoverConcerned } from "../view/cluster-ip.ts";
import { explanation } from "../view/explanation.ts";
import {
  type ExplainedImport,
  type ExplainedService,
  explanationText,
  serviceText,
} from "../view/explanation-text.ts";
import { conditionOf } from "../view/status.ts";
import { inEachCluster } from "./each-cluster.ts";
import { importOf, nodeOf, type Target, targetOf } from "./explain-target.ts";

interface ExplainFlags extends ClusterFlags {
  readonly from?: string;
  readonly namespace?: string;
  readonly verbose?: boolean;
  readonly output: Output;
}

/** `explain`: why connections to an import go where they go. */
export function addExplain(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  withOutputFlag(withClusterFlags(program.command("explain")))
    .summary("why connections to an import go where they go")
    .description(
      "Print tier by tier which endpoints of an import get connections from a node, and why the others do not; whether the node's agent has planned the same, and its kernel holds it; where its name points; whether the ClusterIP of the Service with its name fails over to other clusters; conflicts of its exports.\n" +
        "Exit code 4: connections are rejected; 3: they go to a farther tier, agent or kernel differ, or a requested ClusterIP failover is in use, not prepared, prepared in part, or not known.",
    )
    .argument("<import>", "NAMESPACE/NAME[:PORT], NAME with -n, or a VIP")
    .option(
      "--from <node>",
      "as this node sees it, or the node of a pod, NAMESPACE/POD; default: the first node with a ready agent",
    )
    .option("-n, --namespace <name>", "of an import without one")
    .option("-v, --verbose", "the meaning of each reason")
    .action(async (target: string, flags: ExplainFlags) =>
      end(await explain(targetOf(target, flags.namespace), flags, terminal)),
    );
}

async function explain(target: Target, flags: ExplainFlags, terminal: Terminal): Promise<ExitCode> {
  return withClusters(flags, terminal, async (clusters) => {
    const found: (ExplainedImport | ExplainedService)[] = [];
    const explained = await inEachCluster(clusters, terminal, async (cluster) => ({
      context: cluster.context,
      one: await explainedIn(cluster, clusters, target, flags, terminal),
    }));
    for (const { context, one } of explained.results) {
      if (typeof one !== "string") found.push(one);
      else {
        const label = clusters.length === 1 ? "error: " : "";
        terminal.note(printable`${label}${context}: ${oneLine(one)}\n`);
      }
    }
    if (found.length === 0) return EXIT.failed;
    if (flags.output === "table") {
      const texts = found.map((one) =>
        "ports" in one
          ? explanationText(one, flags.verbose === true, terminal)
          : serviceText(one, terminal),
      );
      terminal.out(joined(texts, printable`\n`));
    } else terminal.out(documentText({ contexts: found }, flags.output));
    if (explained.failed.length > 0) return EXIT.failed;
    return exitCodeOf(found.flatMap(({ clusterIp, severity }) => [clusterIp.severity, severity]));
  });
}

/** A message if it cannot be explained. */
async function explainedIn(
  cluster: Cluster,
  clusters: readonly Cluster[],
  target: Target,
  flags: ExplainFlags,
  terminal: Terminal,
): Promise<ExplainedImport | ExplainedService | string> {
  const { context } = cluster;
  const { signal } = terminal;
  const objects = await readAgentObjects(cluster);
  const settings = agentSettings(objects.daemonSets);
  if (isUsage(settings)) return usageText(settings);
  const { config } = settings;
  const facts = agentFacts(objects, config);
  const key = target.key ?? importOf(target.address ?? "", facts);
  if (key === undefined) return notOurs(cluster, target.address ?? "");
  const view = modelOf(facts, config).view(key);
  const [clusterIpReading, exports] = await Promise.all([
    readClusterIp(cluster, key, signal),
    exportRemarks(clusters, key, signal),
  ]);
  const clusterIp = explainedClusterIp(key, clusterIpReading, view?.slices);
  if (view === undefined) {
    const absent = `no ServiceImport ${key}, and no slice of one`;
    if (!isFailoverConcerned(clusterIp)) return [absent, ...exports].join("; ");
    return { context, import: key, absent, clusterIp, remarks: exports, severity: "well" };
  }
  const agents = await podsOf(cluster, "agent").catch(() => []);
  const name = await nodeOf(cluster, flags.from, facts, agents);
  const node = nodeFactOf(name, facts, config);
  if (isUsage(node)) return usageText(node);
  const pod = agents.find((one) => one.node === name);
  const isWanted = (service: { portName: string; port: number }) =>
    target.port === undefined || [service.portName, String(service.port)].includes(target.port);
  const pages = await agentPages(cluster, pod, key, signal);
  const found = explanation(context, view, node, pages, isWanted);
  if (target.port !== undefined && found.reason === "programmed" && found.ports.length === 0) {
    return `${key} has no port ${target.port}`;
  }
  const vips = found.vips.filter(({ previous }) => !previous).map(({ address }) => address);
  const dns = await dnsOf(cluster, key, vips, signal);
  const own = new Set([
    `ServiceImport ${key}`,
    ...view.slices.map((slice) => `EndpointSlice ${slice.key}`),
  ]);
  const problems = facts.problems.filter(({ object }) => own.has(object)).map(problemText);
  const ofNode = await nodeRemarks(cluster, pod, signal);
  const remarks = [...readyRemark(objects.imports, key), ...exports, ...problems, ...ofNode];
  return { ...found, dns, clusterIp, remarks };
}

/** The condition of the import, if it reports a problem, or what was left out or drained. */
function readyRemark(imports: Iterable<unknown>, key: ObjectKey): string[] {
  for (const one of imports) {
    const ready = metaOf(one)?.key === key ? conditionOf(one, "Ready") : undefined;
    if (ready === undefined) continue;
    const plain = /^(ClusterSetIP [^ ]+(, [^ ]+)*\.|Headless: DNS returns its endpoints\.)$/;
    if (ready.status === "True" && plain.test(ready.message)) return [];
    return [`ServiceImport: ${ready.reason}, ${ready.message}`];
  }
  return [];
}

async function notOurs(cluster: Cluster, address: string): Promise<string> {
  const owner = await ownerOf(cluster, address);
  return owner === undefined
    ? `no import has ${address}, nor any Service, Node, pod or IPAddress`
    : `no import has ${address}: it belongs to ${owner}`;
}
