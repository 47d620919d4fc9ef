import type { Command } from "commander";
import { VERSION } from "../../common/version.ts";
import { type ChangeFlags, carryOut } from "../changes/carry-out.ts";
import { joinAdvice } from "../clusters/cluster-fault.ts";
import { readFacts } from "../clusters/read-facts.ts";
import { timeoutOption, withChangeFlags } from "../command-line.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { type UpgradedMember, upgradeChanges } from "../install/upgrade.ts";
import { imagesAt } from "../install/workloads.ts";
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
        const { images, faults } = imagesAt(VERSION, one.images, imagesOf(flags));
        if (mode === undefined)
          faults.unshift(`not a member: no controller. ${joinAdvice(context)}`);
        else if (one.images["clusterset-agent"] === undefined && flags.agentImage === undefined)
          faults.push("no agent: give --agent-image");
        for (const fault of faults) terminal.note(printable`error: ${context}: ${fault}\n`);
        if (mode === undefined || faults.length > 0) return EXIT.failed;
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
