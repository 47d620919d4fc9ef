import type { Command } from "commander";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { SECRETS } from "../../common/kubernetes/kinds.ts";
import { type ChangeFlags, carryOut } from "../changes/carry-out.ts";
import { tokenSecrets } from "../changes/tokens.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { ClusterFault, joinAdvice } from "../clusters/cluster-fault.ts";
import { readFacts, readHub } from "../clusters/read-facts.ts";
import { timeoutOption, withChangeFlags } from "../command-line.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import type { Handover } from "../install/change.ts";
import { sameClusters } from "../install/findings.ts";
import { accessIn, handoversOf, meshHandover, secretText } from "../install/handovers.ts";
import { type ClusterFacts, type Member, membersOf, NO_FLAGS } from "../install/members.ts";
import { type Rotation, rotateChanges } from "../install/rotate.ts";
import { printable } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";
import {
  type ClustersetFlags,
  withClustersetFlags,
  withNamedClusters,
} from "./clusterset-flags.ts";
import { inEachCluster } from "./each-cluster.ts";

type RotateFlags = ClustersetFlags & ChangeFlags;

/** `rotate CONTEXT…`. */
export function addRotate(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  withChangeFlags(withClustersetFlags(program.command("rotate")))
    .summary("replace the tokens of all pairs of clusters, or of the hub")
    .description(
      "Replace the tokens of all pairs of clusters, or of the hub: a second token, then the kubeconfig, and once the API server has seen it in use, the first token is deleted. No watch is without a valid token.\n" +
        "It can be repeated: a rotation that broke off is completed.",
    )
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
  return withNamedClusters(contexts, flags, whole, ({ members, hub: onHub, all }) =>
    carryOut(all, flags, whole, async (terminal) => {
      const { note, signal } = terminal;
      const { results: facts, failed } = await inEachCluster(members, terminal, (on) =>
        readFacts(on, signal),
      );
      if (failed.length > 0) return EXIT.failed;
      const hub = onHub && (await readHub(onHub));
      const found = membersOf(facts.map(withAnyRanges), NO_FLAGS, hub);
      const faults = [
        ...found.faults.map(({ context, text }) => `${context}: ${text}`),
        ...sameClusters({ members: found.members, hub }),
        ...(hub === undefined ? found.members.flatMap(unreported) : []),
      ];
      for (const fault of faults) note(printable`error: ${fault}\n`);
      if (faults.length > 0) return EXIT.failed;
      const address = onHub && { context: onHub.context, server: onHub.address };
      const handovers = handoversOf(found.members, address, (owner, reader) =>
        meshHandover(asKnownBy(reader, owner), reader),
      );
      const rotations = await Promise.all(handovers.map((one) => readRotation(one, all)));
      return {
        changes: rotateChanges(rotations),
        question: printable`Continue?`,
        force: true,
        nothing: printable`there are no pairs of clusters: name all members`,
      };
    }),
  );
}

/** Before 1.27, an API server does not note which token is used: the old one would stay for ever. */
function unreported({ context, facts: { minor } }: Member): string[] {
  if (minor >= 27) return [];
  const byHand = "Rotate its tokens by hand: docs/guides/mesh-or-hub.md.";
  return [`${context}: Kubernetes 1.${minor} does not say which tokens are in use. ${byHand}`];
}

/** Reads the tokens of a handover. Rejects with an ApiFault if there is none. */
async function readRotation(handover: Handover, clusters: readonly Cluster[]): Promise<Rotation> {
  const { namespace, account, secret, key } = handover;
  const [from, to] = [handover.from, handover.to].map((context) =>
    clusters.find((one) => one.context === context),
  );
  if (from === undefined || to === undefined) throw new Error("a cluster was not opened");
  const [tokens, live] = await Promise.all([
    tokenSecrets(from, namespace, account),
    to.objects.get(SECRETS, secret.metadata),
  ]);
  if (tokens.length === 0 || live === undefined) {
    const text = `${to.context} has no token for ${namespace}. ${joinAdvice(to.context)}`;
    throw new ClusterFault(from, new ApiFault("absent", text));
  }
  return { handover, tokens, used: accessIn(secretText(live.object, key) ?? "")?.token };
}

/** A rotation changes neither address nor ranges: the reader keeps those that it has. */
function asKnownBy(reader: Member, owner: Member): Member {
  const { endpointCidrs = owner.endpointCidrs, server = owner.server } =
    reader.facts.peers.find(({ cluster }) => cluster === owner.id) ?? {};
  return { ...owner, endpointCidrs, server };
}

/** So that a cluster whose ranges cannot be found gets new tokens, too. */
function withAnyRanges(facts: ClusterFacts): ClusterFacts {
  return { ...facts, found: facts.found ?? { ranges: [], from: "" } };
}
