import { type Flavour, toolsOf } from "../../agent/backends/iptables/flavour.ts";
import { FAMILIES, type Family } from "../../api/address.ts";
import { programIptables } from "../packets/rendered.ts";
import { pureIptables } from "../states/replay.ts";
import { addressesIn, type ForeignChanges, type TestedBackend } from "./tested-backend.ts";

/** 0 of 100,000 were resent when this was measured; an overloaded machine drops a few packets. */
const RESENT = 1 / 10_000;

const STORMS = {
  nft: { connections: 50_000, changes: 500, resent: RESENT },
  legacy: { connections: 25_000, changes: 250, resent: RESENT },
} as const;

/** The iptables backend in one flavour. */
export function iptables(flavour: Flavour): TestedBackend {
  return {
    name: "iptables",
    title: `iptables (${flavour})`,
    inGuest: flavour === "nft" ? "packets" : "none",
    complete: /-j CSP-GUARD/,
    flags: ["--backend", "iptables", "--iptables-flavour", flavour],
    config: { iptablesFlavour: flavour },
    pure: pureIptables,
    program: programIptables,
    flow: (flow) => (flow.expect === "unserved" ? { ...flow, expect: "untouched" } : flow),
    kept: ["tcp", "udp", "sctp"],
    invalid: "dropped",
    writerProcess: /^iptables-.*restore$/,
    failover: { written: 1, deleted: 0 },
    storm: STORMS[flavour],
    foreignChanges: (family) => foreignChangesOf(flavour, family),
    standIns: standInsOf(flavour),
    writers: FAMILIES.flatMap((family) => toolsOf(flavour, family).restore),
    foreign: {
      create: `iptables-${flavour} -w -t nat -N MINE; iptables-${flavour} -w -t nat -A PREROUTING -d 9.9.9.9 -j MINE`,
      list: `iptables-${flavour}-save`,
      shown: /-A PREROUTING -d 9\.9\.9\.9\/32 -j MINE/,
    },
    async takers(node, family, protocol) {
      const listing = await node.exec([...toolsOf(flavour, family).save, "-t", "nat"]);
      const rule = `-p ${protocol.toLowerCase()} .* --to-destination (\\S+):8080`;
      return addressesIn(listing, new RegExp(rule, "g"));
    },
    async own(node) {
      const saves = FAMILIES.map((family) => node.exec([...toolsOf(flavour, family).save]));
      const listing = (await Promise.all(saves)).join("");
      // Rules of ours, jumps to them and chains, without counters. Jumps may be in another order.
      return (listing.match(/^(:CSP-\S+|-A .*CSP-.*)$/gm) ?? []).sort();
    },
  };
}

/** Input is written at COMMIT. A tool that exits by itself has rejected its input, so this one is killed. */
const RESTORE = `pass() {
  while IFS= read -r line; do
    if [ "$line" = COMMIT ] && ! may_write; then
      kill -9 $$
      exit
    fi
    printf '%s\\n' "$line"
  done
}
pass | $real "$@"`;

function standInsOf(flavour: Flavour): Record<string, string> {
  const scripts = FAMILIES.flatMap((family) => {
    const { list, save, restore } = toolsOf(flavour, family);
    const read = [...list, ...save].map((program) => [program, 'may_read\nexec $real "$@"']);
    return [...read, ...restore.map((program) => [program, RESTORE])];
  });
  return Object.fromEntries(scripts);
}

/** A family's ClusterSet CIDR, a part of it, and an address that is another program's. */
const RANGES = {
  IPv4: { range: "241.0.0.0/8", inside: "241.0.0.0/9", other: "10.96.0.10/32" },
  IPv6: { range: "fd00:241::/108", inside: "fd00:241::/109", other: "fd00:96::a/128" },
} as const;

function foreignChangesOf(flavour: Flavour, family: Family): ForeignChanges {
  const { range, inside, other } = RANGES[family];
  const [restore] = toolsOf(flavour, family).restore;
  const [save] = toolsOf(flavour, family).save;
  const input = (...lines: readonly string[]) =>
    `printf '%s\n' ${[...lines, "COMMIT"].map((line) => `'${line}'`).join(" ")} | ${restore} --noflush`;
  const jump = (table: string, chain: string, verb: string) => {
    const own = `s|^-A (${chain} .*${range} .* -j CSP-[GS].*)|${verb} \\1|p`;
    return `{ echo '*${table}'; ${save} -t ${table} | sed -nE '${own}' | head -n 1; echo COMMIT; } | ${restore} --noflush`;
  };
  return {
    "a flushed nat table": input("*nat", "-F"),
    "a flushed filter table": input("*filter", "-F"),
    "flushed tables, and all chains deleted": input(
      "*filter",
      "-F",
      "-X",
      "COMMIT",
      "*nat",
      "-F",
      "-X",
    ),
    "a deleted jump": jump("nat", "OUTPUT", "-D"),
    "a repeated jump": jump("filter", "FORWARD", "-A"),
    "a rule added to a chain of ours": input("*filter", "-I CSP-GUARD 1 -j ACCEPT"),
    "a chain of ours with other rules": input(
      "*nat",
      ":CSP-MASQUERADE - [0:0]",
      "-A CSP-MASQUERADE -j MASQUERADE",
    ),
    "a flushed chain of a service": `${save} -t nat | sed -n 's/^:\\(CSP-SVC-[^ ]*\\).*/*nat\\n:\\1 - [0:0]\\nCOMMIT/p' | ${restore} --noflush`,
    "a DNAT rule to another port": `{ echo '*nat'; ${save} -t nat | sed -n 's/^-A\\( CSP-SVC-.*\\):8080$/-I\\1:666/p'; echo COMMIT; } | ${restore} --noflush`,
    "an accepting rule before a jump": input("*filter", "-I OUTPUT 1 -p tcp -j ACCEPT"),
    "a dropping rule before a jump": input("*filter", `-I FORWARD 1 -d ${inside} -j DROP`),
    "a returning rule before a jump": input(
      "*nat",
      `-I PREROUTING 1 -s ${other} -d ${range} -j RETURN`,
    ),
    "a foreign chain before a jump": input(
      ...["*nat", ":OTHERS - [0:0]", "-I OUTPUT 1 -j OTHERS"],
      `-A OTHERS -d ${inside} -p udp -m udp --dport 53 -j ACCEPT`,
    ),
  };
}
