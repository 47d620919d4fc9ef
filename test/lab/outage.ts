import type { Lab } from "./lab.ts";

/**
 * The router drops all packets from and to a cluster's nodes, without an error, as in a power failure. Processes continue unless
 * they are killed separately. Throws if the lab has no such cluster.
 */
export async function cutOff(lab: Lab, cluster: string): Promise<void> {
  await dropping("-I", lab, cluster);
}

/** Ends what `cutOff` began. */
export async function reconnect(lab: Lab, cluster: string): Promise<void> {
  await dropping("-D", lab, cluster);
}

async function dropping(verb: "-I" | "-D", lab: Lab, cluster: string): Promise<void> {
  // The router's links are called by the place of their node (wiring.ts).
  const links = lab.topology.nodes.flatMap((node, i) =>
    node.cluster === cluster ? [`node${i}`] : [],
  );
  if (links.length === 0) throw new Error(`the lab has no cluster ${cluster}`);
  for (const link of links) {
    for (const direction of ["-i", "-o"]) {
      for (const iptables of ["iptables", "ip6tables"]) {
        await lab.router.exec([iptables, verb, "FORWARD", direction, link, "-j", "DROP"]);
      }
    }
  }
}
