import { type Command, InvalidArgumentError } from "commander";
import { isAddress, parseAddress } from "../../api/address.ts";
import { type ObjectKey, objectKey } from "../../api/names.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { problemText } from "../../api/problem.ts";
import { isUsage, usageText } from "../../common/config/usage.ts";
import { PODS } from "../../common/kubernetes/kinds.ts";
import { metaOf } from "../../common/kubernetes/object-meta.ts";
import { type AgentFacts, agentFacts, modelOf, nodeFactOf } from "../agents/facts.ts";
import { agentSettings, readAgentObjects } from "../agents/objects.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { type ClusterFlags, namespaceOf, withClusters } from "../clusters/contexts.ts";
import { objectReference, withClusterFlags, withOutputFlag } from "../command-line.ts";
import { EXIT, type ExitCode, exitCodeOf } from "../exit-code.ts";
import { documentText, joined, type Output, oneLine, printable } from "../output/printable.ts";
import { type ProgramPod, podsOf } from "../programs/pods.ts";
import {
  agentPages,
  dnsOf,
  exportRemarks,
  nodeRemarks,
  ownerOf,
  readClusterIp,
} from "../programs/read-explanation.ts";
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
    .option("-n, --namespace <name>", "of an import without one; default: the context's")
    .option("-v, --verbose", "the meaning of each reason")
    .action(async (target: string, flags: ExplainFlags) =>
      end(
        await explain(
          targetOf(target, () => namespaceOf(flags, terminal)),
          flags,
          terminal,
        ),
      ),
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

/** What is to be explained: an import, or an address that may be one's; and one of its ports. */
export interface Target {
  readonly key?: ObjectKey;
  readonly address?: string;
  /** Name or number. */
  readonly port?: string;
}

/** The import that has a VIP, or lists it. */
export function importOf(address: string, { holders, imports }: AgentFacts): ObjectKey | undefined {
  const holder = holders.get(address);
  if (holder !== undefined && imports.has(holder)) return holder;
  const lists = [...imports.values()].find(({ vips }) => vips.some(({ text }) => text === address));
  return lists?.key;
}

/** The node to explain for. */
export async function nodeOf(
  cluster: Cluster,
  from: string | undefined,
  { nodes }: AgentFacts,
  agents: readonly ProgramPod[],
): Promise<string> {
  if (from === undefined) {
    const ready = agents.filter((one) => one.ready).map(({ node = "" }) => node);
    return ready.sort()[0] ?? [...nodes.keys()].sort()[0] ?? "";
  }
  if (nodes.has(from)) return from;
  const [namespace = "", name, ...rest] = from.split("/");
  if (name === undefined || rest.length > 0)
    throw new InvalidArgumentError(
      `--from ${from}: there is no such Node; a pod is NAMESPACE/POD.`,
    );
  const pod = await cluster.objects.get(PODS, { namespace, name });
  const node = fieldAt(pod?.object, "spec", "nodeName");
  if (typeof node !== "string") {
    const what = pod === undefined ? "there is no such pod" : "the pod has no node yet";
    throw new InvalidArgumentError(`--from ${from}: ${what}.`);
  }
  return node;
}

/** `shop/web`, `shop/web:http`, `241.0.0.1`, `241.0.0.1:80`, `fd00::1` or `[fd00::1]:80`. */
export function targetOf(text: string, namespace: () => string): Target {
  const whole = parseAddress(text);
  if (isAddress(whole)) return { address: whole.text };
  const [, bracketed, plain = "", port] =
    /^(?:\[([^\]]+)\]|([^:]*))(?::([^:]+))?$/.exec(text) ?? [];
  const named = bracketed ?? plain;
  const address = parseAddress(named);
  const at = port === undefined ? {} : { port };
  if (isAddress(address)) return { address: address.text, ...at };
  const reference = objectReference(named, namespace);
  return { key: objectKey(reference.namespace, reference.name), ...at };
}
