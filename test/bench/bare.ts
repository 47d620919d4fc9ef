import { type Flavour, toolsOf } from "../../agent/backends/iptables/flavour.ts";
import type { Namespace } from "../lab/namespace.ts";
import { bareRestore } from "./pipeline.ts";
import { LIVE, NAMESPACE } from "./shape.ts";

/**
 * Milliseconds that a bare `iptables-restore` takes, several times, to write the chain of the service that changes as it
 * is there already, on the table as it is loaded: nobody who goes through iptables changes it sooner.
 */
export async function bareChanges(
  flavour: Flavour,
  node: Namespace,
  times: number,
): Promise<number[]> {
  const [save] = toolsOf(flavour, "IPv4").save;
  const saved = await node.exec([save, "-t", "nat"], { timeout: 120_000 });
  const text = liveChainOf(saved);
  const taken: number[] = [];
  for (let i = 0; i < times; i++) taken.push(await bareRestore(flavour, node, text));
  return taken;
}

/** The text that writes the chain anew, from all of a table. Throws if the chain is not there. PURE. */
export function liveChainOf(saved: string): string {
  const comment = `"${NAMESPACE}/${LIVE}:`;
  const rules = saved
    .split("\n")
    .filter((line) => line.includes(comment) && line.includes(" --to-destination "));
  const [, chain] = /^-A (\S+) /.exec(rules[0] ?? "") ?? [];
  if (chain === undefined) throw new Error(`no chain has rules of ${comment}`);
  return ["*nat", `:${chain} - [0:0]`, ...rules, "COMMIT", ""].join("\n");
}
