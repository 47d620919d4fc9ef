import type { Command } from "commander";
import { type ChangeFlags, carryOut, type Plan } from "../changes/carry-out.ts";
import { crdsOf, exportsOf, readersOf } from "../changes/left-objects.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { noContext, withClusters } from "../clusters/contexts.ts";
import { readFacts } from "../clusters/read-facts.ts";
import {
  clusterId,
  contextValues,
  listed,
  timeoutOption,
  withChangeFlags,
  withConnectionFlags,
} from "../command-line.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { type Departure, isOurs, leaveChanges, leaveMilestones } from "../install/leave.ts";
import type { ClusterFacts } from "../install/members.ts";
import { printable } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";
import { findMembers, inEachCluster } from "./each-cluster.ts";

interface LeaveFlags extends ChangeFlags {
  readonly context?: readonly string[];
  readonly hub?: string;
  readonly id?: string;
  readonly absent?: readonly string[];
  readonly keepPrograms?: boolean;
  readonly keepCrds?: boolean;
  readonly agentImage?: string;
  readonly wait: boolean;
  readonly kubeconfig?: string;
  readonly requestTimeout?: number;
}

/** `leave CONTEXT`. */
export function addLeave(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  withChangeFlags(withConnectionFlags(program.command("leave")))
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
    .option("--yes", "do not ask")
    .option("--no-wait", "do not wait until others no longer use its endpoints")
    .addOption(timeoutOption("for each wait", "3m"))
    .action(async (context: string, flags: LeaveFlags) =>
      end(await leave(context, flags, terminal)),
    );
}

function leave(leaving: string, flags: LeaveFlags, whole: Terminal): Promise<ExitCode> {
  const { context, hub, kubeconfig, requestTimeout } = flags;
  const contexts = [leaving, ...(hub === undefined ? [] : [hub])];
  const clusterFlags = {
    ...(context === undefined && hub === undefined ? { allContexts: true } : { contexts }),
    ...(context !== undefined && { context }),
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(requestTimeout !== undefined && { requestTimeout }),
  };
  return withClusters(clusterFlags, whole, (clusters) =>
    carryOut(clusters, flags, whole, (terminal) => planLeave(leaving, clusters, flags, terminal)),
  );
}

async function planLeave(
  leaving: string,
  clusters: readonly Cluster[],
  flags: LeaveFlags,
  terminal: Terminal,
): Promise<Plan | ExitCode> {
  const on = clusters.find(({ context }) => context === leaving);
  if (on === undefined) throw noContext(leaving, clusters);
  const departure = await examined(on, clusters, flags, terminal);
  if (departure === undefined) return EXIT.failed;
  const { keepPrograms = false, keepCrds = false, agentImage, wait } = flags;
  const crds = await crdsOf(on);
  const options = { wait, keepPrograms, ...(agentImage !== undefined && { agentImage }) };
  const whole = { ...departure, crds: keepCrds ? [] : crds.own };
  return {
    changes: leaveChanges(whole, options),
    question: printable`Cluster ${departure.id} leaves. Continue?`,
    // What cleans its nodes shows nothing. With an image, they are cleaned whatever is there.
    matters: ({ action, object }) =>
      agentImage !== undefined || (action !== "created" && isOurs(object.kind)),
    nothing: keepPrograms
      ? printable`${leaving}: no other cluster knows it: nothing to delete.`
      : printable`${leaving}: not a member: nothing to delete. If its nodes have rules of agents that are gone: --agent-image IMAGE removes them.`,
    milestones: leaveMilestones(whole, options),
    remarks: keepPrograms
      ? []
      : [
          ...(keepCrds || crds.others.length === 0
            ? []
            : [
                `${leaving}: CRDs that join did not apply stay: ${crds.others.join(", ")}. If nothing else uses them: kubectl delete -f deploy/crds`,
              ]),
          ...stubDomainRemark(departure.facts),
          ...startupTaintRemark(departure.facts),
        ],
  };
}

/** What a user has added to the DNS server, and only a user can take away. */
function stubDomainRemark({ context, dns }: ClusterFacts): string[] {
  if (dns.ownImage === undefined || dns.block === "forwards") return [];
  return [
    `${context}: its CoreDNS for clusterset.local is deleted. Take the stub domain from the cluster's DNS server (docs/guides/dns.md).`,
  ];
}

/** Only the controller removes the taint, and new nodes would take no pods. */
function startupTaintRemark({ context, components }: ClusterFacts): string[] {
  if (!components.includes("startup-taint")) return [];
  return [
    `${context}: the controller that removes the startup taint is deleted. First stop to give nodes the taint (docs/guides/startup-taint.md).`,
  ];
}

/** Reads the clusters; undefined if others would be left with a cluster that is gone, which is then said. */
async function examined(
  on: Cluster,
  clusters: readonly Cluster[],
  flags: LeaveFlags,
  terminal: Terminal,
): Promise<Omit<Departure, "crds"> | undefined> {
  const { note, signal } = terminal;
  const facts = await readFacts(on, signal);
  const id = flags.id ?? facts.clusterId ?? on.context;
  const isNamed = flags.context !== undefined || flags.hub !== undefined;
  const peers = facts.peers.map(({ cluster }) => cluster);
  const [exports, readers] = await Promise.all([exportsOf(on), readersOf(on, id)]);
  // A member that it has no Secret of any more may still have one of it.
  const reading = facts.hub === undefined ? readers.map(({ metadata }) => metadata.name) : [];
  const ids = [...new Set([...peers, ...reading])];
  const onHub = clusters.find(({ context }) => context === flags.hub);
  const found = isNamed
    ? {
        members: clusters.filter((one) => one !== on && one !== onHub),
        ...(onHub !== undefined && { hub: onHub }),
      }
    : await findMembers(facts, ids, clusters, terminal);
  const { results: others, failed } = await inEachCluster(found.members, terminal, (one) =>
    readFacts(one, signal),
  );
  if (failed.length > 0) return undefined;
  const { hub } = found;
  const known = new Set([
    ...others.flatMap(({ clusterId }) => clusterId ?? []),
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
    // The context's name may be the ID of another member, and leave would delete that member's access.
    ...(flags.id === undefined && facts.clusterId === undefined && (ids.length > 0 || known.has(id))
      ? [
          `${on.context}: its ID is unknown, because its ClusterProperty is gone. Name it with --id.`,
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
  const { context } = on;
  return { context, id, facts, others, exports, readers, ...(hub && { hub: hub.context }) };
}
