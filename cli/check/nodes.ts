import { counted } from "../../api/count.ts";
import { type Outcome, ok, unknown, warning } from "./finding.ts";
import type { CheckedNode } from "./platform.ts";

/** Processors for which images are built. */
const PROCESSORS = ["amd64", "arm64"];

/** The first Linux with which a component works; without it, agents use iptables (docs/guides/nftables.md, ipvs.md). */
const OLDEST_KERNELS: Readonly<Record<string, readonly [major: number, minor: number]>> = {
  nftables: [5, 13],
  ipvs: [5, 10],
};

/** Nodes on which no agent runs. PURE. */
export function systemProblems(nodes: readonly CheckedNode[]): Outcome[] {
  return orKinds(nodes, ({ system }) => system, [
    [({ system }) => system !== "linux", "without Linux"],
    [({ isServerless }) => isServerless, "without DaemonSets"],
  ]);
}

/** Nodes whose processor has no images. PURE. */
export function processorProblems(nodes: readonly CheckedNode[]): Outcome[] {
  return orKinds(nodes, ({ processor }) => processor, [
    [({ processor }) => !PROCESSORS.includes(processor), "with a processor that has no image"],
  ]);
}

/** Nodes that are too old for a component that a cluster has. PURE. */
export function kernelProblems(
  nodes: readonly CheckedNode[],
  components: readonly string[],
): Outcome[] {
  const needed = components.flatMap((name) => {
    const oldest = OLDEST_KERNELS[name];
    return oldest === undefined ? [] : [{ name, oldest }];
  });
  return orKinds(
    nodes,
    ({ kernel }) => kernel,
    needed.map(({ name, oldest }) => [
      ({ kernel }) => isOlder(kernel, oldest),
      `older than Linux ${oldest.join(".")}, which the component ${name} needs`,
    ]),
  );
}

function isOlder(kernel: string, [major, minor]: readonly [number, number]): boolean {
  const [, ...parts] = /^(\d+)\.(\d+)/.exec(kernel) ?? [];
  const [ofMajor = Number.NaN, ofMinor = Number.NaN] = parts.map(Number);
  return ofMajor < major || (ofMajor === major && ofMinor < minor);
}

type Problem = readonly [isBad: (node: CheckedNode) => boolean, what: string];

/** A warning for each problem that nodes have, with an example; else the kinds of nodes that there are. */
function orKinds(
  nodes: readonly CheckedNode[],
  kindOf: (node: CheckedNode) => string,
  problems: readonly Problem[],
): Outcome[] {
  // A kubelet that has not registered yet says nothing of its node.
  const known = nodes.filter((node) => kindOf(node) !== "");
  if (known.length === 0) return [unknown("No Node has reported it yet.", "Check again later.")];
  const found = problems.flatMap(([isBad, what]) => {
    const bad = known.filter(isBad);
    const [first] = bad;
    if (first === undefined) return [];
    const example = `${first.name} (${kindOf(first)})`;
    return [warning(`${counted(bad.length, "node")} ${what}, such as ${example}.`)];
  });
  return found.length > 0 ? found : [ok([...new Set(known.map(kindOf))].sort().join(", "))];
}
