import type { Command } from "commander";
import type { Cluster } from "../clusters/cluster.ts";
import { applyNames, planNames } from "../clusters/cluster-names.ts";
import { noContext, withClusters } from "../clusters/contexts.ts";
import {
  CLEANUP_NAMESPACE,
  cleanNodes,
  crdsOf,
  deleteAll,
  existingObjects,
  exportsOf,
  leftBehind,
  readersOf,
  untilEnded,
  untilStopped,
  untilUnused,
  untilWithdrawn,
} from "../clusters/depart.ts";
import { MEMBERS_NAMESPACE } from "../clusters/handover.ts";
import type { ApplyOptions } from "../clusters/join-plan.ts";
import { readFacts } from "../clusters/read-facts.ts";
import {
  clusterId,
  contextValues,
  type DryRun,
  dryRunOption,
  listed,
  timeoutOption,
  withConnectionFlags,
  withOutputFlag,
} from "../command-line.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import {
  objectOf,
  programsToDelete,
  tracesInPeer,
  tracesOnHub,
  workloadsToDelete,
} from "../install/departure.ts";
import { HUB_SECRET } from "../install/desired.ts";
import type { ClusterFacts } from "../install/facts.ts";
import { type InstallObject, titleOf } from "../install/install-object.ts";
import { INSTALL_NAMESPACE } from "../install/workloads.ts";
import type { Output } from "../output/document.ts";
import { printable } from "../output/printable.ts";
import { planText } from "../output/table.ts";
import type { Terminal } from "../terminal.ts";
import { Changes, isConfirmed } from "./changes.ts";
import { inEachCluster } from "./each-cluster.ts";
import { findMembers } from "./find-members.ts";

interface LeaveFlags {
  readonly context?: readonly string[];
  readonly hub?: string;
  readonly id?: string;
  readonly absent?: readonly string[];
  readonly keepPrograms?: boolean;
  readonly keepCrds?: boolean;
  readonly agentImage?: string;
  readonly dryRun?: DryRun;
  readonly output: Output;
  readonly yes?: boolean;
  readonly wait: boolean;
  /** Milliseconds. */
  readonly timeout: number;
  readonly kubeconfig?: string;
  readonly requestTimeout?: number;
}

/** A cluster that leaves, and all that knows it. */
interface Departure {
  readonly on: Cluster;
  readonly id: string;
  readonly facts: ClusterFacts;
  readonly hub?: Cluster;
  /** Other members of a mesh. */
  readonly others: readonly { readonly on: Cluster; readonly facts: ClusterFacts }[];
}

/** Objects that are deleted in one cluster, and what is done before the next ones. */
interface Deletion {
  readonly on: Cluster;
  readonly objects: readonly InstallObject[];
}

/** `leave CONTEXT`. */
export function addLeave(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  withOutputFlag(withConnectionFlags(program.command("leave")))
    .summary("take a cluster out of its clusterset")
    .description(
      "Take a cluster out of its clusterset, in the order that interrupts no connection: withdraw its exports, wait until no other cluster uses its endpoints, remove it from the others, then delete programs, permissions and rules of nodes.\n" +
        "Prints what it will delete and asks first. It can be repeated: a run after a break continues.",
    )
    .argument("<context>", "context of the cluster that leaves")
    .option(
      "--context <names>",
      "contexts of the other members, separated by commas; may be repeated; default: all that the kubeconfig has",
      contextValues,
    )
    .option(
      "--hub <context>",
      "the hub, in place of the other members; default: if the kubeconfig has it",
    )
    .option("--id <id>", "its ID, if its ClusterProperty is gone", clusterId)
    .option("--absent <ids>", "IDs of members that no longer exist", listed)
    .option("--keep-programs", "only make it the only member of its clusterset (mesh)")
    .option("--keep-crds", "keep the CRDs with all ServiceExports and ServiceImports")
    .option("--agent-image <image>", "image that cleans the nodes; default: of its agents")
    .addOption(dryRunOption())
    .option("--yes", "do not ask")
    .option("--no-wait", "do not wait until others no longer use its endpoints")
    .addOption(timeoutOption("for each wait", "3m"))
    .action(async (context: string, flags: LeaveFlags) =>
      end(await leave(context, flags, terminal)),
    );
}

function leave(leaving: string, flags: LeaveFlags, whole: Terminal): Promise<ExitCode> {
  const changes = new Changes(whole, flags.output);
  const { terminal } = changes;
  const { context, hub, kubeconfig, requestTimeout } = flags;
  const contexts = [leaving, ...(hub === undefined ? [] : [hub])];
  const clusterFlags = {
    ...(context === undefined && hub === undefined ? { allContexts: true } : { contexts }),
    ...(context !== undefined && { context }),
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(requestTimeout !== undefined && { requestTimeout }),
  };
  const act = async (clusters: readonly Cluster[]): Promise<ExitCode> => {
    const departure = await examined(leaving, clusters, flags, terminal);
    if (departure === undefined) return EXIT.failed;
    const [before, atEnd] = await Promise.all([
      existing(await beforeTheEnd(departure, flags)),
      existing(await atTheEnd(departure, flags)),
    ]);
    if (!isMember([...before, ...atEnd]) && flags.agentImage === undefined) {
      terminal.out(
        printable`${leaving}: not a member: nothing to delete. If its nodes have rules of agents that are gone: --agent-image IMAGE removes them.\n`,
      );
      return EXIT.well;
    }
    const after = flags.keepPrograms === true ? [] : atEnd;
    const lines = [...before, ...after].flatMap(({ on, objects }) =>
      objects.map((object) => ({
        ...{ context: on.context, action: "deleted", object: titleOf(object) },
      })),
    );
    terminal.out(planText(lines, terminal));
    if (after.length > 0) await noteOtherCrds(departure.on, flags, terminal);
    if (flags.dryRun !== undefined) {
      changes.add(lines);
      terminal.out(printable`dry run: nothing was deleted\n`);
      return EXIT.well;
    }
    const question = printable`Cluster ${departure.id} leaves. Continue?`;
    if (!(await isConfirmed(terminal, question, flags.yes))) return EXIT.failed;
    await carryOut(departure, before, after, flags, changes);
    return EXIT.well;
  };
  return withClusters(clusterFlags, terminal, (clusters) => changes.during(() => act(clusters)));
}

/** The deletions, without objects that do not exist. */
function existing(deletions: readonly Deletion[]): Promise<Deletion[]> {
  return Promise.all(
    deletions.map(async ({ on, objects }) => ({ on, objects: await existingObjects(on, objects) })),
  );
}

/** Kinds that other implementations of the API write, too. */
const SHARED_KINDS = ["ServiceExport", "ClusterProperty"];

/** True if something of ours is there. */
function isMember(deletions: readonly Deletion[]): boolean {
  return deletions.some(({ objects }) => objects.some(({ kind }) => !SHARED_KINDS.includes(kind)));
}

/** Reads the clusters; undefined if others would be left with a cluster that is gone, which is then said. */
async function examined(
  leaving: string,
  clusters: readonly Cluster[],
  flags: LeaveFlags,
  terminal: Terminal,
): Promise<Departure | undefined> {
  const { note, signal } = terminal;
  const on = clusters.find(({ context }) => context === leaving);
  if (on === undefined) throw noContext(leaving, clusters);
  const facts = await readFacts(on, signal);
  const id = flags.id ?? facts.clusterId ?? on.context;
  const isNamed = flags.context !== undefined || flags.hub !== undefined;
  const peers = facts.peers.map(({ cluster }) => cluster);
  // A member that it has no Secret of any more may still have one of it.
  const readers = facts.hub === undefined ? await readersOf(on, id) : [];
  const ids = [...new Set([...peers, ...readers.map(({ metadata }) => metadata.name)])];
  const onHub = clusters.find(({ context }) => context === flags.hub);
  const found = isNamed
    ? {
        members: clusters.filter((one) => one !== on && one !== onHub),
        ...(onHub !== undefined && { hub: onHub }),
      }
    : await findMembers(facts, ids, clusters, terminal);
  const { results: others, failed } = await inEachCluster(found.members, terminal, async (one) => ({
    on: one,
    facts: await readFacts(one, signal),
  }));
  if (failed.length > 0) return undefined;
  const { hub } = found;
  const known = new Set([
    ...others.flatMap((one) => one.facts.clusterId ?? []),
    ...(flags.absent ?? []),
  ]);
  const unknown = peers.filter((peer) => !known.has(peer));
  const unseen = ids.filter((one) => !peers.includes(one) && !known.has(one));
  if (unseen.length > 0)
    note(
      printable`${on.context}: may read its registry, and no context is it: ${unseen.join(", ")}. What it has of ${id} stays; name it with --context to delete that, too.\n`,
    );
  const faults = [
    ...(unknown.length > 0
      ? [
          `${on.context} has peers that no context is: ${unknown.join(", ")}. Name them with --context, or with --absent if they no longer exist.`,
        ]
      : []),
    ...(facts.mode === "hub" && hub === undefined
      ? [`${on.context}: its registry is on a hub. Name it with --hub.`]
      : []),
    ...(flags.keepPrograms === true && hub !== undefined
      ? ["--keep-programs: a member of a hub cannot be without it."]
      : []),
  ];
  for (const fault of faults) note(printable`error: ${fault}\n`);
  if (faults.length > 0) return undefined;
  return { on, id, facts, others, ...(hub !== undefined && { hub }) };
}

/** Exports, and all by which others know the cluster, and it them. */
async function beforeTheEnd(
  { on, id, facts, hub, others }: Departure,
  { keepPrograms = false }: LeaveFlags,
): Promise<Deletion[]> {
  const peers = others.flatMap((other): Deletion[] => {
    const { clusterId } = other.facts;
    if (clusterId === undefined) return [];
    const secrets = other.facts.peers.flatMap(({ cluster, secret }) =>
      cluster === id ? [secret] : [],
    );
    return [{ on: other.on, objects: tracesInPeer(clusterId, id, secrets) }];
  });
  const own = [
    ...facts.peers.map(({ secret }) => secret),
    ...(facts.hub === undefined ? [] : [HUB_SECRET]),
  ];
  return [
    { on, objects: await exportsOf(on) },
    ...peers,
    ...(hub === undefined ? [] : [{ on: hub, objects: tracesOnHub(id, MEMBERS_NAMESPACE) }]),
    { on, objects: own.map((name) => objectOf("Secret", name, INSTALL_NAMESPACE)) },
    // Without programs, the registry goes with all that is in it.
    ...(keepPrograms ? [{ on, objects: await readersOf(on, id) }] : []),
  ];
}

/** Programs, and all that they and join have written. */
async function atTheEnd(
  { on, id, hub, facts }: Departure,
  { keepCrds = false }: LeaveFlags,
): Promise<Deletion[]> {
  const crds = await crdsOf(on);
  const mode = hub === undefined ? "mesh" : "hub";
  return [
    { on, objects: workloadsToDelete(mode, facts.components) },
    { on, objects: programsToDelete(mode, id, facts.components) },
    { on, objects: await leftBehind(on) },
    { on, objects: keepCrds ? [] : crds.own },
    { on, objects: [objectOf("Namespace", CLEANUP_NAMESPACE)] },
  ];
}

async function noteOtherCrds(
  on: Cluster,
  { keepCrds = false }: LeaveFlags,
  { note }: Terminal,
): Promise<void> {
  const { others } = await crdsOf(on);
  if (keepCrds || others.length === 0) return;
  note(
    printable`${on.context}: CRDs that join did not apply stay: ${others.join(", ")}. If nothing else uses them: kubectl delete -f deploy/crds\n`,
  );
}

async function carryOut(
  { on, id, hub, others, facts }: Departure,
  before: readonly Deletion[],
  after: readonly Deletion[],
  flags: LeaveFlags,
  { terminal: { out, signal, timeOfDay }, done }: Changes,
): Promise<void> {
  const { wait, timeout, keepPrograms = false } = flags;
  const options = { force: false, signal, timeOfDay: timeOfDay(), done };
  const [exports, ...traces] = before;
  if (exports !== undefined) await deleteAll(on, exports.objects, options);
  if (wait) {
    for (const other of others) await untilUnused(other.on, id, timeout, signal);
    if (hub !== undefined) await untilWithdrawn(hub, id, timeout, signal);
    out(printable`no other cluster uses endpoints of ${id}\n`);
  }
  for (const { on: there, objects } of traces) await deleteAll(there, objects, options);
  const cleanup = keepPrograms ? [] : await removePrograms({ on, facts }, after, flags, options);
  if (!keepPrograms) out(printable`${on.context}: the agents' rules are removed from all nodes\n`);
  for (const { on: there, objects } of [...traces, ...after, { on, objects: cleanup }])
    await untilEnded(there, objects, signal);
}

/** Deletes the programs and all that they wrote, and cleans the nodes. Returns the objects that cleaned them. */
async function removePrograms(
  { on, facts }: Pick<Departure, "on" | "facts">,
  [workloads, programs, , crds]: readonly Deletion[],
  { timeout, agentImage }: LeaveFlags,
  options: ApplyOptions,
): Promise<InstallObject[]> {
  const { signal, timeOfDay, done } = options;
  const names = await planNames(on, "remove");
  await applyNames(on, names, timeOfDay, signal);
  if (names.action === "changed") done(on, "kube-system/configmap/coredns", "changed");
  await deleteAll(on, workloads?.objects ?? [], options);
  await untilStopped(on, workloads?.objects ?? [], signal);
  await deleteAll(on, programs?.objects ?? [], options);
  // Controllers wrote until now.
  await deleteAll(on, await leftBehind(on), options);
  await deleteAll(on, crds?.objects ?? [], options);
  const image = agentImage ?? facts.images["clusterset-agent"];
  const images = image === undefined ? {} : { "clusterset-agent": image };
  const { components } = facts;
  return cleanNodes(on, { images, components }, timeout, options);
}
