import { type Command, InvalidArgumentError, Option } from "commander";
import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";
import { isClusterId, isClusterSetId, isLabelValue } from "../../api/names.ts";
import { missingRights } from "../clusters/api-reviews.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { type OpenMember, trustedFor } from "../clusters/handover.ts";
import {
  applyJoin,
  type ContextPlan,
  isDone,
  type JoinOptions,
  NAMES_OBJECT,
  planJoin,
  plannedOf,
} from "../clusters/join-plan.ts";
import { whyUnreachable } from "../clusters/reach.ts";
import { readFacts, readHub } from "../clusters/read-facts.ts";
import { untilRolledOut } from "../clusters/rollout.ts";
import { timeoutOption } from "../command-line.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { COMPONENTS } from "../install/components.ts";
import type { HubFacts } from "../install/facts.ts";
import { findingsOf, serviceOverlaps } from "../install/findings.ts";
import { titleOf } from "../install/install-object.ts";
import {
  type ComponentFlag,
  type MemberFlags,
  membersOf,
  NO_COMPONENT,
  NO_FLAGS,
} from "../install/members.ts";
import { rangesIn } from "../install/ranges.ts";
import { WORKLOADS } from "../install/workloads.ts";
import { documentText } from "../output/document.ts";
import { type PlanLine, planText } from "../output/plan-text.ts";
import { table } from "../output/table.ts";
import { untilControllersSee } from "../programs/controllers-see.ts";
import type { Terminal } from "../terminal.ts";
import { byContext } from "./cluster-values.ts";
import {
  type ClustersetFlags,
  openMembers,
  withClustersetFlags,
  withNamedClusters,
} from "./clusterset-flags.ts";
import { isConfirmed } from "./confirm.ts";
import { type ImageFlags, imagesOf, withImageFlags } from "./image-flags.ts";
import { isReachable } from "./reachability.ts";

interface JoinFlags extends ClustersetFlags, ImageFlags, Partial<MemberFlags> {
  readonly component?: readonly ComponentFlag[];
  readonly clusterset: string;
  readonly hubServer?: string;
  readonly clustersetCidr: readonly Cidr[];
  readonly skipManifests?: boolean;
  readonly skipReachability?: boolean;
  readonly dns: boolean;
  readonly dryRun?: "client" | "server";
  readonly output?: "yaml";
  readonly forceConflicts?: boolean;
  /** Milliseconds. */
  readonly timeout: number;
  readonly wait: boolean;
}

/** `join CONTEXT…`. */
export function addJoin(program: Command, terminal: Terminal, end: (code: ExitCode) => void): void {
  const command = withClustersetFlags(program.command("join"))
    .summary("make clusters members of a clusterset")
    .description(
      "Make clusters members of a clusterset: CRDs, agents and controllers, identity, registries, tokens, and names in CoreDNS.\n" +
        "Prints what it will do and asks first. It can be repeated: what is there stays, and a run after a break continues.\n" +
        "To add a cluster later, name its context together with those of all members.",
    )
    .requiredOption("--clusterset <id>", "ID of the clusterset", clusterSetId)
    .option("--hub-server <url>", "URL of the hub for the clusters; default: of the kubeconfig")
    .option(
      "--id <context=id>",
      "ID of a cluster; default: the name of its context",
      byContext((value) => (isClusterId(value) ? undefined : "Expected a cluster ID.")),
    )
    .option(
      "--region <context=region>",
      "region of a cluster; default: the label of its Nodes",
      byContext((value) => (isLabelValue(value) ? undefined : "Expected a label value.")),
    )
    .option(
      "--endpoint-cidrs <context=ranges>",
      "ranges of a cluster's pods, separated by commas; default: as its network plugin or its Nodes have them",
      byContext((value) => (rangesIn(value) ? undefined : "Expected ranges such as 10.1.0.0/16.")),
    )
    .option(
      "--api-server <context=url>",
      "URL of a cluster's API server for the other clusters; default: of the kubeconfig",
      byContext((value) => (isHttps(value) ? undefined : "Expected an https URL.")),
    )
    .option(
      "--clusterset-cidr <ranges>",
      "ClusterSet CIDRs, which no other range may overlap",
      cidrs,
      cidrs("241.0.0.0/8"),
    );
  withImageFlags(command)
    .option(
      "--component <[context=]name>",
      `a component of all clusters, or of one; may be repeated: ${COMPONENTS.join(", ")}; default: those of earlier joins (none: without them)`,
      component,
    )
    .option(
      "--skip-manifests",
      "leave CRDs, agents, controllers and their permissions to a chart or a GitOps tool",
    )
    .option(
      "--skip-reachability",
      "do not check first, with a short-lived pod in each cluster, that pods reach API servers and each other",
    )
    .option("--no-dns", "leave CoreDNS as it is")
    .addOption(
      new Option("--dry-run <kind>", "print what would change, and change nothing").choices([
        "client",
        "server",
      ]),
    )
    .addOption(
      new Option(
        "-o, --output <format>",
        "print all objects, except tokens, and change nothing",
      ).choices(["yaml"]),
    )
    .option("--force-conflicts", "take over fields that other programs own")
    .addOption(timeoutOption("for agents and controllers to be ready", "3m"))
    .option("--no-wait", "do not wait for agents and controllers")
    .action(async (contexts: readonly string[], flags: JoinFlags) =>
      end(await join(contexts, flags, terminal)),
    );
}

function join(
  contexts: readonly string[],
  flags: JoinFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  if (flags.skipManifests === true && flags.component !== undefined)
    throw new InvalidArgumentError("--component is of the manifests that --skip-manifests leaves.");
  return withNamedClusters(contexts, flags, terminal, async ({ members, hub }) => {
    const options = await examined(members, hub, flags, terminal);
    if (options === undefined) return EXIT.failed;
    const plans = await planJoin(options);
    if (flags.output !== undefined) return printManifests(plans, terminal);
    return carryOut(plans, options, flags, terminal);
  });
}

/** Reads and checks the clusters; undefined if they cannot join, which is then said. */
async function examined(
  clusters: readonly Cluster[],
  onHub: Cluster | undefined,
  flags: JoinFlags,
  terminal: Terminal,
): Promise<JoinOptions | undefined> {
  const { clusterset, clustersetCidr, skipManifests = false, dns } = flags;
  const [facts, hub] = await Promise.all([
    Promise.all(clusters.map((on) => readFacts(on, terminal.signal))),
    onHub && readHub(onHub),
  ]);
  const unnamed = unknownContexts(clusters, flags);
  const found = membersOf(facts, memberFlags(flags), hub);
  const set = {
    ...{ id: clusterset, members: found.members, hub, clustersetCidrs: clustersetCidr },
    ...{
      mode: hub === undefined ? ("mesh" as const) : ("hub" as const),
      manifests: !skipManifests,
    },
  };
  const { faults, warnings } = findingsOf(set);
  const all = [...unnamed, ...found.faults, ...faults, ...serviceOverlaps(set)];
  for (const warning of warnings) terminal.note(`warning: ${warning}\n`);
  for (const fault of all) terminal.note(`error: ${fault}\n`);
  if (all.length > 0) return undefined;
  const members = openMembers(found.members, clusters);
  for (const warning of await unreachable(members, onHub, hub, flags))
    terminal.note(`warning: ${warning}\n`);
  terminal.out(membersText(members, terminal));
  return {
    ...{ clusterset, members, dns, manifests: !skipManifests, images: imagesOf(flags) },
    ...{ force: flags.forceConflicts === true, validate: flags.dryRun === "server" },
    ...(hub && onHub && { hub: { on: onHub, facts: hub, server: flags.hubServer ?? hub.address } }),
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

function memberFlags(flags: JoinFlags): MemberFlags {
  const { id, region, endpointCidrs, apiServer, component: components } = flags;
  return {
    components: components ?? NO_FLAGS.components,
    id: id ?? NO_FLAGS.id,
    region: region ?? NO_FLAGS.region,
    endpointCidrs: endpointCidrs ?? NO_FLAGS.endpointCidrs,
    apiServer: apiServer ?? NO_FLAGS.apiServer,
  };
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

function membersText(members: readonly OpenMember[], { paint }: Terminal): string {
  const rows = members.map(({ id, context, region, endpointCidrs, rangesFrom, server }) => [
    ...[id, context, region ?? "(none)", `${endpointCidrs} (${rangesFrom})`, server],
  ]);
  return `${table(["CLUSTER", "CONTEXT", "REGION", "RANGES OF PODS", "API SERVER FOR OTHERS"], rows, paint)}\n`;
}

async function carryOut(
  plans: readonly ContextPlan[],
  options: JoinOptions,
  flags: JoinFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const { out, note, paint, signal } = terminal;
  const lines = plans.flatMap(linesOf);
  out(planText(lines, paint));
  const conflicts = lines.filter(({ action }) => action === "conflict");
  if (conflicts.length > 0) {
    note(
      "error: other programs own fields that would change. Change them there, or take them over with --force-conflicts.\n",
    );
    return EXIT.failed;
  }
  const rights = await Promise.all(
    plans.map((plan) => {
      const objects = plannedOf(plan).filter(({ action }) => action !== "unchanged");
      return missingRights(
        plan.on,
        objects.map(({ object }) => object),
        signal,
      );
    }),
  );
  for (const sentence of rights.flat()) note(`error: ${sentence}\n`);
  if (rights.flat().length > 0) return EXIT.failed;
  if (plans.every(isDone)) {
    out("nothing to do\n");
    return EXIT.well;
  }
  if (flags.dryRun !== undefined) {
    out("dry run: nothing was changed\n");
    return EXIT.well;
  }
  if (!flags.skipReachability && !(await isReachable(plans, options, flags.timeout, terminal)))
    return EXIT.failed;
  if (!(await isConfirmed(terminal, "Are the ranges right, and continue?", flags.yes)))
    return EXIT.failed;
  await applyJoin(plans, {
    ...{ force: options.force, signal, timeOfDay: terminal.timeOfDay() },
    done: ({ context }, title, action) => out(`${context}: ${title} ${action}\n`),
  });
  if (flags.wait) await settle(options, flags.timeout, terminal);
  return EXIT.well;
}

/** Waits until agents and controllers are ready, and controllers read each other's registries from their pods. */
async function settle(
  { members }: JoinOptions,
  timeout: number,
  { signal, out }: Terminal,
): Promise<void> {
  const ids = members.map(({ id }) => id);
  await Promise.all(
    members.map(async ({ on }) => {
      for (const workload of WORKLOADS) {
        await untilRolledOut(on, workload, timeout, signal);
        out(`${on.context}: ${workload.name} is ready\n`);
      }
    }),
  );
  await Promise.all(
    members.map(async ({ on, id }) => {
      const others = ids.filter((one) => one !== id);
      await untilControllersSee(on, others, timeout, signal);
      if (others.length > 0) out(`${on.context}: its controller reads ${others.join(", ")}\n`);
    }),
  );
}

function linesOf(plan: ContextPlan): PlanLine[] {
  const { context } = plan.on;
  const lines = plannedOf(plan).map(
    ({ object, action, detail }): PlanLine => ({
      ...{ context, action, object: titleOf(object) },
      ...(detail !== undefined && { detail }),
    }),
  );
  if (plan.names === undefined) return lines;
  const { action } = plan.names;
  const detail =
    action === "kept"
      ? "no CoreDNS there: add the block of deploy/coredns/names to your DNS server"
      : "a block for clusterset.local";
  return [...lines, { context, action, object: titleOf(NAMES_OBJECT), detail }];
}

/** All objects by context, for GitOps. Their order is that of a join. */
function printManifests(plans: readonly ContextPlan[], { out, note }: Terminal): ExitCode {
  for (const { on, objects, handovers, identity, names } of plans) {
    out(`# Context ${on.context}\n`);
    for (const { object } of [...objects, ...identity]) out(`---\n${documentText(object, "yaml")}`);
    for (const [{ secret }] of handovers)
      out(`# ${titleOf(secret)}: not printed, because it has a token. Run join to create it.\n`);
    if (names?.action === "changed")
      out(`# ${titleOf(NAMES_OBJECT)}: run join, or add the block of deploy/coredns/names.\n`);
    out("---\n");
  }
  note("Secrets with tokens are not printed: run join without -o, with --skip-manifests.\n");
  return EXIT.well;
}

function clusterSetId(value: string): string {
  if (isClusterSetId(value)) return value;
  throw new InvalidArgumentError("Expected a label value, such as prod.");
}

function cidrs(value: string): readonly Cidr[] {
  const ranges = value.split(",").map((part) => parseCidr(part.trim()));
  if (ranges.every(isCidr)) return ranges;
  throw new InvalidArgumentError("Expected ranges such as 241.0.0.0/8.");
}

/** `NAME`, or `CONTEXT=NAME`; contexts may have an equals sign, names do not. */
function component(value: string, before: readonly ComponentFlag[] = []): ComponentFlag[] {
  const end = value.lastIndexOf("=");
  const name = value.slice(end + 1);
  if (!COMPONENTS.includes(name) && name !== NO_COMPONENT)
    throw new InvalidArgumentError(`Expected one of ${COMPONENTS.join(", ")}, or ${NO_COMPONENT}.`);
  return [...before, { name, ...(end > 0 && { context: value.slice(0, end) }) }];
}

function isHttps(value: string): boolean {
  return URL.parse(value)?.protocol === "https:";
}
