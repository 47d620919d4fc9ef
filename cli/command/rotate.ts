import type { Command } from "commander";
import { hubHandover, meshHandover, type OpenMember } from "../clusters/handover.ts";
import { readFacts, readHub } from "../clusters/read-facts.ts";
import { planRotation, rotateToken } from "../clusters/rotate-token.ts";
import { type DryRun, dryRunOption, timeoutOption, withOutputFlag } from "../command-line.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import type { ClusterFacts } from "../install/facts.ts";
import { sameClusters } from "../install/findings.ts";
import { titleOf } from "../install/install-object.ts";
import { membersOf, NO_FLAGS } from "../install/members.ts";
import type { Output } from "../output/document.ts";
import { printable } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";
import { Changes, isConfirmed } from "./changes.ts";
import {
  type ClustersetFlags,
  type NamedClusters,
  openMembers,
  withClustersetFlags,
  withNamedClusters,
} from "./clusterset-flags.ts";
import { inEachCluster } from "./each-cluster.ts";

interface RotateFlags extends ClustersetFlags {
  readonly dryRun?: DryRun;
  readonly output: Output;
  /** Milliseconds. */
  readonly timeout: number;
}

/** `rotate CONTEXT…`. */
export function addRotate(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  withOutputFlag(withClustersetFlags(program.command("rotate")))
    .summary("replace the tokens of all pairs of clusters, or of the hub")
    .description(
      "Replace the tokens of all pairs of clusters, or of the hub: a second token, then the kubeconfig, and once the API server has seen it in use, the first token is deleted. No watch is without a valid token.\n" +
        "It can be repeated: a rotation that broke off is completed.",
    )
    .addOption(dryRunOption())
    .addOption(timeoutOption("until a new token is in use", "3m"))
    .action(async (contexts: readonly string[], flags: RotateFlags) =>
      end(await rotate(contexts, flags, terminal)),
    );
}

function rotate(
  contexts: readonly string[],
  flags: RotateFlags,
  whole: Terminal,
): Promise<ExitCode> {
  const changes = new Changes(whole, flags.output);
  const { terminal } = changes;
  const act = async ({ members, hub: onHub }: NamedClusters): Promise<ExitCode> => {
    const { note, signal } = terminal;
    const { results: facts, failed } = await inEachCluster(members, terminal, (on) =>
      readFacts(on, signal),
    );
    if (failed.length > 0) return EXIT.failed;
    const hub = onHub && (await readHub(onHub));
    const found = membersOf(facts.map(withAnyRanges), NO_FLAGS, hub);
    const faults = [...found.faults, ...sameClusters({ members: found.members, hub })];
    for (const fault of faults) note(printable`error: ${fault}\n`);
    if (faults.length > 0) return EXIT.failed;
    const open = openMembers(found.members, members);
    const handovers =
      onHub === undefined
        ? open.flatMap((owner) =>
            open
              .filter((one) => one !== owner)
              .map((reader) => meshHandover(asKnownBy(reader, owner), reader)),
          )
        : open.map((member) => hubHandover(onHub, onHub.address, member));
    const rotations = await Promise.all(handovers.map(planRotation));
    for (const { handover, fresh, old } of rotations) {
      const { from, namespace, to, secret } = handover;
      const verb =
        fresh === undefined ? "gets a new token" : `continues with the token in ${fresh}`;
      changes.done(to, titleOf(secret), verb);
      for (const name of old) changes.done(from, `${namespace}/secret/${name}`, "is deleted then");
    }
    if (rotations.length === 0)
      note(printable`There are no pairs of clusters: name all members.\n`);
    if (flags.dryRun !== undefined || rotations.length === 0) return EXIT.well;
    if (!(await isConfirmed(terminal, printable`Continue?`, flags.yes))) return EXIT.failed;
    for (const rotation of rotations) {
      await rotateToken(rotation, {
        ...{ force: true, signal, timeOfDay: terminal.timeOfDay(), within: flags.timeout },
        done: changes.done,
      });
    }
    return EXIT.well;
  };
  return withNamedClusters(contexts, flags, terminal, (named) => changes.during(() => act(named)));
}

/** A rotation changes neither address nor ranges: the reader keeps those that it has. */
function asKnownBy(reader: OpenMember, owner: OpenMember): OpenMember {
  const { endpointCidrs = owner.endpointCidrs, server = owner.server } =
    reader.facts.peers.find(({ cluster }) => cluster === owner.id) ?? {};
  return { ...owner, endpointCidrs, server };
}

/** So that a cluster whose ranges cannot be found gets new tokens, too. */
function withAnyRanges(facts: ClusterFacts): ClusterFacts {
  return { ...facts, found: facts.found ?? { ranges: [], from: "" } };
}
