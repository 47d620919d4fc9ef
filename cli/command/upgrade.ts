import type { Command } from "commander";
import { VERSION } from "../../common/version.ts";
import { type Planned, planObject } from "../clusters/apply-objects.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { applyInOrder } from "../clusters/join-plan.ts";
import { readFacts } from "../clusters/read-facts.ts";
import { untilRolledOut, type Workload } from "../clusters/rollout.ts";
import { type DryRun, dryRunOption, timeoutOption, withOutputFlag } from "../command-line.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import type { ClusterFacts } from "../install/facts.ts";
import { type InstallObject, titleOf } from "../install/install-object.ts";
import { CRDS, type Images, ON_HUB, programs } from "../install/manifests.ts";
import { WORKLOADS, withTag } from "../install/workloads.ts";
import type { Output } from "../output/document.ts";
import { printable } from "../output/printable.ts";
import { planText } from "../output/table.ts";
import type { Terminal } from "../terminal.ts";
import { Changes, isConfirmed } from "./changes.ts";
import {
  type ClustersetFlags,
  type NamedClusters,
  withClustersetFlags,
  withNamedClusters,
} from "./clusterset-flags.ts";
import { inEachCluster } from "./each-cluster.ts";
import { type ImageFlags, imagesOf, withImageFlags } from "./image-flags.ts";

interface UpgradeFlags extends ClustersetFlags, ImageFlags {
  readonly dryRun?: DryRun;
  readonly output: Output;
  readonly forceConflicts?: boolean;
  /** Milliseconds. */
  readonly timeout: number;
}

/** What an upgrade does to one cluster: everything but programs first, and then one program after the other. */
interface Stage {
  readonly on: Cluster;
  readonly objects: readonly Planned[];
  readonly workloads: readonly (readonly [Workload, Planned])[];
}

/** `upgrade CONTEXT…`. */
export function addUpgrade(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  const command = withClustersetFlags(
    withOutputFlag(program.command("upgrade")),
    "contexts of the kubeconfig, in the order of the upgrade",
    "the hub: its CRDs and permissions first",
  )
    .summary(`upgrade clusters to ${VERSION}`)
    .description(
      `Upgrade clusters to ${VERSION}, one after the other: CRDs (newer ones stay), permissions, controllers, then agents, each of which must be ready before the next. Stops at the first that is not, so that the other clusters stay as they are.`,
    );
  withImageFlags(command)
    .addOption(dryRunOption())
    .option("--force-conflicts", "take over fields that other programs own")
    .addOption(timeoutOption("for each program to be ready", "10m"))
    .action(async (contexts: readonly string[], flags: UpgradeFlags) =>
      end(await upgrade(contexts, flags, terminal)),
    );
}

function upgrade(
  contexts: readonly string[],
  flags: UpgradeFlags,
  whole: Terminal,
): Promise<ExitCode> {
  const changes = new Changes(whole, flags.output);
  const { terminal } = changes;
  const act = async ({ members, hub }: NamedClusters): Promise<ExitCode> => {
    const stages: Stage[] = [];
    if (hub !== undefined) stages.push(await stageOf(hub, [...CRDS, ...ON_HUB], flags));
    const { results: read, failed } = await inEachCluster(members, terminal, async (on) => ({
      on,
      facts: await readFacts(on, terminal.signal),
    }));
    if (failed.length > 0) return EXIT.failed;
    for (const { on, facts } of read) {
      const images = imagesFor(facts, flags);
      if (facts.mode === undefined || images === undefined) {
        const why =
          facts.mode === undefined
            ? "it has no controller: let it join"
            : "its images are named by digests: give --agent-image and --controller-image";
        terminal.note(printable`error: ${on.context}: ${why}\n`);
        return EXIT.failed;
      }
      stages.push(
        await stageOf(on, [...CRDS, ...programs(facts.mode, images, facts.components)], flags),
      );
    }
    return carryOut(stages, flags, changes);
  };
  return withNamedClusters(contexts, flags, terminal, (named) => changes.during(() => act(named)));
}

/** The images of flags, or those that the cluster has, with our version as the tag. */
function imagesFor({ images }: ClusterFacts, flags: ImageFlags): Images | undefined {
  const given = imagesOf(flags);
  const agent = given["clusterset-agent"] ?? withTag(images["clusterset-agent"] ?? "@", VERSION);
  const controller =
    given["clusterset-controller"] ?? withTag(images["clusterset-controller"] ?? "@", VERSION);
  if (agent === undefined || controller === undefined) return undefined;
  return { "clusterset-agent": agent, "clusterset-controller": controller };
}

async function stageOf(
  on: Cluster,
  objects: readonly InstallObject[],
  { forceConflicts: force = false }: UpgradeFlags,
): Promise<Stage> {
  const plans = await Promise.all(
    objects.map((object) => planObject(on, object, { force, validate: false })),
  );
  const workloads = WORKLOADS.flatMap((workload) =>
    plans.flatMap((planned) =>
      planned.object.kind === workload.kind ? [[workload, planned] as const] : [],
    ),
  );
  const isWorkload = (one: Planned) => workloads.some(([, planned]) => planned === one);
  return { on, workloads, objects: plans.filter((one) => !isWorkload(one)) };
}

async function carryOut(
  stages: readonly Stage[],
  flags: UpgradeFlags,
  changes: Changes,
): Promise<ExitCode> {
  const { terminal, done } = changes;
  const { out, note, signal, timeOfDay } = terminal;
  const lines = stages.flatMap(({ on, objects, workloads }) =>
    [...objects, ...workloads.map(([, planned]) => planned)].map(({ object, action, detail }) => ({
      ...{ context: on.context, action, object: titleOf(object) },
      ...(detail !== undefined && { detail }),
    })),
  );
  out(planText(lines, terminal));
  if (lines.some(({ action }) => action === "conflict")) {
    note(
      printable`error: other programs own fields that would change. Upgrade with these programs, or take the fields over with --force-conflicts.\n`,
    );
    return EXIT.failed;
  }
  if (!lines.some(({ action }) => action === "created" || action === "changed")) {
    out(printable`nothing to do\n`);
    return EXIT.well;
  }
  if (flags.dryRun !== undefined) {
    changes.add(lines);
    out(printable`dry run: nothing was changed\n`);
    return EXIT.well;
  }
  if (!(await isConfirmed(terminal, printable`Continue?`, flags.yes))) return EXIT.failed;
  const force = flags.forceConflicts === true;
  for (const { on, objects, workloads } of stages) {
    await applyInOrder(on, objects, { force, signal, timeOfDay: timeOfDay(), done });
    for (const [workload, planned] of workloads) {
      await applyInOrder(on, [planned], { force, signal, timeOfDay: timeOfDay(), done });
      await untilRolledOut(on, workload, flags.timeout, signal);
      out(printable`${on.context}: ${workload.name} is ready\n`);
    }
  }
  return EXIT.well;
}
