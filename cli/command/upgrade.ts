import type { Command } from "commander";
import { VERSION } from "../../common/version.ts";
import { type ChangeFlags, carryOut } from "../changes/carry-out.ts";
import { joinAdvice } from "../clusters/cluster-fault.ts";
import { readFacts } from "../clusters/read-facts.ts";
import { timeoutOption, withChangeFlags } from "../command-line.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import type { Images } from "../install/manifests.ts";
import type { ClusterFacts } from "../install/members.ts";
import { type UpgradedMember, upgradeChanges } from "../install/upgrade.ts";
import { withTag } from "../install/workloads.ts";
import { printable } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";
import {
  type ClustersetFlags,
  type ImageFlags,
  imagesOf,
  withClustersetFlags,
  withImageFlags,
  withNamedClusters,
} from "./clusterset-flags.ts";
import { inEachCluster } from "./each-cluster.ts";

type UpgradeFlags = ClustersetFlags & ImageFlags & ChangeFlags;

/** `upgrade CONTEXT…`. */
export function addUpgrade(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  const command = withClustersetFlags(
    withChangeFlags(program.command("upgrade")),
    "contexts of the kubeconfig, in the order of the upgrade",
    "the hub: its CRDs and permissions first",
  )
    .summary(`upgrade clusters to ${VERSION}`)
    .description(
      `Upgrade clusters to ${VERSION}, one after the other: CRDs (newer ones stay), permissions, controllers, then agents, each of which must be ready before the next. Stops at the first that is not, so that the other clusters stay as they are.`,
    );
  withImageFlags(command)
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
  return withNamedClusters(contexts, flags, whole, ({ members, hub, all }) =>
    carryOut(all, flags, whole, async (terminal) => {
      const { results: facts, failed } = await inEachCluster(members, terminal, (on) =>
        readFacts(on, terminal.signal),
      );
      if (failed.length > 0) return EXIT.failed;
      const upgraded: UpgradedMember[] = [];
      for (const one of facts) {
        const { context, mode, components } = one;
        const images = imagesFor(one, flags);
        if (mode === undefined || images === undefined) {
          const why =
            mode === undefined
              ? `not a member: no controller. ${joinAdvice(context)}`
              : "its images are named by digests: give --agent-image and --controller-image";
          terminal.note(printable`error: ${context}: ${why}\n`);
          return EXIT.failed;
        }
        upgraded.push({ context, mode, images, components });
      }
      return {
        changes: upgradeChanges(upgraded, hub?.context),
        question: printable`Continue?`,
        onConflict: "Upgrade with these programs, or take the fields over with --force-conflicts.",
      };
    }),
  );
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
