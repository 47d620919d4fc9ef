import type { Family } from "../../../api/address.ts";

/** What one run of iptables-restore is given, and how the real tools of both flavours end. */
export interface Step {
  readonly text: string;
  readonly accepted: boolean;
}

/** Runs of iptables-restore, one after the other, that begin with empty tables. */
export interface FakeCase {
  readonly name: string;
  readonly family: Family;
  readonly steps: readonly Step[];
}

const CHAINS = ["CSP-A", "CSP-B"];

/** A transaction on one table that begins with two empty chains. */
function fresh(table: "nat" | "filter", ...lines: readonly string[]): string {
  return section(table, ...CHAINS.map((name) => `:${name} - [0:0]`), ...lines);
}

function section(table: "nat" | "filter", ...lines: readonly string[]): string {
  return [`*${table}`, ...lines, "COMMIT", ""].join("\n");
}

const nat = (...lines: readonly string[]) => section("nat", ...lines);
const filter = (...lines: readonly string[]) => section("filter", ...lines);
const yes = (text: string): Step => ({ text, accepted: true });
const no = (text: string): Step => ({ text, accepted: false });

/** Rules that are accepted, and printed as the fake must print them. */
const GOOD_NAT = [
  "",
  "-d 1.2.3.4",
  "-d 1.2.3.4/24 -j RETURN",
  "-d 0.0.0.0/0 -j RETURN",
  "! -s 10.1.0.0/16 -j RETURN",
  "-s 0.0.0.0/0.0.0.1 -d 0.0.0.1/0.0.0.1 -j RETURN",
  "-s 0.0.0.0/0.0.0.1 -d 0.0.0.1/0.0.0.1 -m comment --comment hairpin -j RETURN",
  "-j ACCEPT",
  "-j CSP-B",
  "-g CSP-B",
  "-d 241.0.0.0/20 -g CSP-B",
  "-p tcp -m tcp --dport 0 -j RETURN",
  "-p tcp -m tcp --dport 65535 -j RETURN",
  "-p udp -m udp --dport 53 -j RETURN",
  "-p sctp -m sctp --dport 36412 -j RETURN",
  '-p tcp -m comment --comment "before the port" -m tcp --dport 80 -j RETURN',
  "-p tcp -j DNAT --to-destination 10.0.0.1:8080",
  "-j DNAT --to-destination 10.0.0.1",
  "-j MASQUERADE",
  "-j MASQUERADE --random-fully",
  "-m comment --comment clusterset-proxy -j RETURN",
  '-m comment --comment "demo/serve:http local c1" -j RETURN',
  '-m comment --comment "" -j RETURN',
  '-m comment --comment "quote \\" apostrophe \' backslash \\\\" -j RETURN',
  "-m comment --comment it's -j RETURN",
  "-m comment --comment back\\slash -j RETURN",
  '-m comment --comment "# -j #" -j RETURN',
  `-m comment --comment ${"x".repeat(255)} -j RETURN`,
  "-m statistic --mode random --probability 0 -j RETURN",
  "-m statistic --mode random --probability 1 -j RETURN",
  "-m statistic --mode random --probability 0.3 -j RETURN",
  "-m statistic --mode random --probability 0.33333333349 -j RETURN",
  "-m statistic --mode random --probability 0.99999999999 -j RETURN",
  "-m statistic --mode random --probability 0.00000000001 -j RETURN",
  "-m statistic --mode random --probability 0.000244140625 -j RETURN",
  "-m statistic --mode random --probability 0.000732421875 -j RETURN",
  "-m recent --set --name CSP-demo.serve-10.0.0.1 --mask 255.255.255.255 --rsource -j RETURN",
  "-m recent --update --seconds 10800 --reap --name a --mask 255.255.255.255 --rsource -j RETURN",
  `-m recent --set --name ${"x".repeat(199)} --rsource -j RETURN`,
  "-m conntrack --ctstate NEW -j RETURN",
  "-m conntrack --ctstate new,INVALID -j RETURN",
  "-m conntrack --ctstate ESTABLISHED,RELATED -j RETURN",
  "-m conntrack ! --ctstate DNAT -j RETURN",
  "-m conntrack ! --ctstate dnat,NEW --ctorigdst 241.0.0.1 -j RETURN",
  "-m conntrack --ctorigdst 241.0.0.1 -j RETURN",
  "-m conntrack --ctorigdst 241.0.0.1/32 -j RETURN",
  "-m conntrack --ctorigdst 241.0.0.1/8 -j RETURN",
  "-m conntrack --ctorigdst 0.0.0.0/0 -j RETURN",
];

const GOOD_NAT6 = [
  "-d fd00::1 -j RETURN",
  "-d FD00:0::1/128 -j RETURN",
  "-d fd00::1/64 -j RETURN",
  "-d ::/0 -j RETURN",
  "-d fd00:1:0:0:1:0:0:1/127 -j RETURN",
  "-d fd00:1:0:1:1:1:1:1 -j RETURN",
  "-p tcp -j DNAT --to-destination [fd01::1]:8080",
  "-j DNAT --to-destination fd01::1",
  "-j DNAT --to-destination [FD01:0::1]",
  "-m conntrack --ctstate DNAT --ctorigdst fd00:241::/108 -j RETURN",
  "-m conntrack --ctstate DNAT --ctorigdst fd00:241::1/128 -j RETURN",
  "-m recent --set --name a --rsource -j RETURN",
  "-s fd01::1 -d fd01::1 -j MASQUERADE --random-fully",
];

const GOOD_FILTER = [
  "-p tcp -m conntrack --ctstate NEW -j REJECT --reject-with tcp-reset",
  "-m conntrack --ctstate NEW -j REJECT --reject-with icmp-port-unreachable",
  "-d 1.2.3.4/32 -m conntrack ! --ctstate DNAT -m comment --comment clusterset-proxy -j DROP",
  "-j REJECT",
  "-j DROP",
];

function rules(table: "nat" | "filter", family: Family, bodies: readonly string[]): FakeCase[] {
  return bodies.map((body) => ({
    name: `${family} ${table}: ${body.slice(0, 100) || "a rule that only counts"}`,
    family,
    steps: [yes(fresh(table, `-A CSP-A ${body}`))],
  }));
}

/** Transactions: what the verbs do to tables, and to one another. */
const VERBS: Readonly<Record<string, readonly Step[]>> = {
  "declaring a chain again empties it": [
    yes(fresh("nat", "-A CSP-A -j RETURN")),
    yes(nat(":CSP-A - [0:0]")),
  ],
  "declaring a base chain sets its policy and keeps its rules": [
    yes(nat("-A OUTPUT -d 1.2.3.4 -j RETURN")),
    yes(nat(":OUTPUT DROP [0:0]")),
    yes(nat(":OUTPUT ACCEPT [0:0]")),
  ],
  "chain names": [yes(nat(`:${"x".repeat(28)} - [0:0]`, ":foo -", ":CSP-241.0.0.0/20 - [0:0]"))],
  "chains are printed by their bytes": [
    yes(
      nat(":b - [0:0]", ":B - [0:0]", ":a.0 - [0:0]", ":a/0 - [0:0]", ":a-0 - [0:0]", ":a - [0:0]"),
    ),
  ],
  "a rule for a chain that is not there": [no(nat("-A CSP-A -j RETURN"))],
  "a jump to a chain that is missing, or declared later": [
    no(fresh("nat", "-A CSP-A -j CSP-MISSING")),
    no(fresh("nat", "-A CSP-A -g CSP-MISSING")),
    no(fresh("nat", "-A CSP-A -j OUTPUT")),
    no(nat(":CSP-A - [0:0]", "-A CSP-A -j CSP-B", ":CSP-B - [0:0]")),
  ],
  "deleting a chain": [
    yes(fresh("nat", "-A CSP-A -j CSP-B")),
    no(nat("-X CSP-B")),
    no(nat("-X CSP-A")),
    no(nat("-X CSP-B", "-F CSP-A")),
    no(nat("-X CSP-MISSING")),
    yes(nat("-F CSP-A", "-X CSP-B")),
    yes(nat(":CSP-A - [0:0]", "-X CSP-A")),
  ],
  "a chain that is the target of a goto is in use": [
    yes(fresh("nat", "-A CSP-A -g CSP-B")),
    no(nat("-X CSP-B")),
  ],
  "deleted and created again in one transaction": [
    yes(fresh("nat", "-A CSP-A -j CSP-B", "-A OUTPUT -j CSP-A")),
    yes(nat("-F CSP-A", "-X CSP-B", ":CSP-B - [0:0]", "-A CSP-B -j RETURN", "-A CSP-A -j CSP-B")),
    yes(nat("-D OUTPUT -j CSP-A", ":CSP-A - [0:0]", ":CSP-B - [0:0]", "-X CSP-A", "-X CSP-B")),
  ],
  "deleting rules": [
    yes(
      fresh(
        "nat",
        "-A CSP-A -d 1.2.3.4 -j RETURN",
        "-A CSP-A -d 1.2.3.5 -j RETURN",
        "-A CSP-A -d 1.2.3.4 -j RETURN",
        "-A CSP-A -m statistic --mode random --probability 0.33333333333 -j RETURN",
      ),
    ),
    yes(nat("-D CSP-A -d 1.2.3.4 -j RETURN")),
    no(nat("-D CSP-A -d 1.2.3.9 -j RETURN")),
    no(nat("-D CSP-A -d 1.2.3.5")),
    yes(nat("-D CSP-A -m statistic --mode random --probability 0.33333333349 -j RETURN")),
    no(nat("-D CSP-MISSING -j RETURN")),
    no(nat("-F CSP-MISSING")),
  ],
  "inserting rules": [
    yes(
      fresh(
        "nat",
        "-I CSP-A -d 1.2.3.1 -j RETURN",
        "-I CSP-A -d 1.2.3.2 -j RETURN",
        "-I CSP-A 1 -d 1.2.3.3 -j RETURN",
      ),
    ),
    no(nat("-I CSP-MISSING -j RETURN")),
    yes(nat("-I OUTPUT 1 -j CSP-A")),
  ],
  "flushing a whole table keeps its chains": [
    yes(fresh("nat", "-A CSP-A -j RETURN", "-A OUTPUT -j CSP-A")),
    yes(nat("-F")),
  ],
  "loops that no base chain reaches": [
    yes(fresh("nat", "-A CSP-A -j CSP-B", "-A CSP-B -j CSP-A")),
    no(nat("-A OUTPUT -j CSP-A")),
    no(nat("-A OUTPUT -g CSP-B")),
  ],
  "a chain that jumps to itself": [
    yes(fresh("nat", "-A CSP-A -j CSP-A")),
    no(nat("-A OUTPUT -j CSP-A")),
  ],
  "a target that the hook does not allow": [
    no(nat("-A OUTPUT -j MASQUERADE")),
    no(nat("-A POSTROUTING -j DNAT --to-destination 10.0.0.1")),
    yes(fresh("nat", "-A CSP-A -j MASQUERADE", "-A CSP-B -j DNAT --to-destination 10.0.0.1")),
    no(nat("-A OUTPUT -j CSP-A")),
    no(nat("-A POSTROUTING -j CSP-B")),
    yes(nat("-A OUTPUT -j CSP-B", "-A PREROUTING -j CSP-B", "-A POSTROUTING -j CSP-A")),
  ],
  "chains that another table has": [
    no(filter("-A PREROUTING -j ACCEPT")),
    yes(fresh("nat")),
    no(filter("-A OUTPUT -j CSP-A")),
  ],
  "sections before a bad one stay": [
    no(`${nat(":CSP-A - [0:0]")}${filter("-A CSP-A -j RETURN")}${nat(":CSP-B - [0:0]")}`),
  ],
  "a section is all or nothing": [
    no(nat(":CSP-A - [0:0]", "-A CSP-A -j RETURN", "-A CSP-MISSING -j RETURN")),
    no("*nat\n:CSP-A - [0:0]\n"),
  ],
  lines: [
    yes(`# comment\n\n*nat\n\n# more\n:CSP-A - [0:0]\n  -A  CSP-A   -j  RETURN  \nCOMMIT\n# end\n`),
    yes(`*filter \n${filter().slice("*filter\n".length)}`),
  ],
};

/** Everything that the fake does as the real tools of both flavours do. */
export const FAKE_CASES: readonly FakeCase[] = [
  ...rules("nat", "IPv4", GOOD_NAT),
  ...rules("nat", "IPv6", GOOD_NAT6),
  ...rules("filter", "IPv4", GOOD_FILTER),
  ...rules("filter", "IPv6", ["-j REJECT", "-p tcp -j REJECT --reject-with tcp-reset"]),
  ...Object.entries(VERBS).map(([name, steps]) => ({ name, family: "IPv4" as const, steps })),
];
