import type { Family } from "../../api/address.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { Namespace } from "../lab/namespace.ts";

/** The backend that tests of the agent run with: agents in them read the same variable of the environment. */
export function backendUnderTest(): string {
  return process.env.CLUSTERSET_AGENT_BACKEND ?? "iptables";
}

const TOOLS = { IPv4: "iptables-save", IPv6: "ip6tables-save" } as const;
const IPVS_PROTOCOLS = { TCP: "t", UDP: "u", SCTP: "-sctp-service" } as const;

/**
 * The addresses that the node's kernel leads new connections of a protocol to, on port 8080; each once, in order. `save`: the
 * program that lists iptables' rules, if it is not the usual one.
 */
export async function takers(
  node: Namespace,
  family: Family,
  protocol: Protocol,
  save: string = TOOLS[family],
): Promise<string[]> {
  const text =
    backendUnderTest() === "ipvs"
      ? await node.exec(["ipvsadm", "-Sn"])
      : await node.exec([save, "-t", "nat"]);
  const server = family === "IPv4" ? "[0-9.]+" : "\\[[^\\]]+\\]";
  const pattern =
    backendUnderTest() === "ipvs"
      ? `^-a -${IPVS_PROTOCOLS[protocol]} ${server}:\\d+ -r (\\S+):8080 -m -w 1$`
      : `-p ${protocol.toLowerCase()} .* --to-destination (\\S+):8080`;
  const found = [...text.matchAll(new RegExp(pattern, "gm"))];
  return [...new Set(found.map(([, address = ""]) => address.replace(/[[\]]/g, "")))].sort();
}

/** All of ours that the node's kernel has of IPv4, as its tools print it; nothing if there is nothing. `save`: as of `takers`. */
export async function ownRules(node: Namespace, save: string = TOOLS.IPv4): Promise<string[]> {
  if (backendUnderTest() !== "ipvs") {
    const lines = (await node.exec([save])).split("\n");
    return lines.filter((line) => line.includes("CSP-"));
  }
  const found = await Promise.all([
    node.run(["ipvsadm", "-Sn"]),
    node.run(["nft", "list", "table", "ip", "csp-ipvs"]),
    node.run(["ip", "-o", "address", "show", "csp-ipvs0"]),
  ]);
  return found.flatMap(({ stdout }) => stdout.split("\n").filter((line) => line !== ""));
}
