/** What one run of iptables-restore is given, and how the real tools of both flavours end. */
export interface Step {
  readonly text: string;
  readonly accepted: boolean;
}

/** Runs of iptables-restore, one after the other, that begin with empty tables. */
export interface FakeCase {
  readonly name: string;
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

/** What the fake does with tables as the real tools of both flavours do. What single rules do to packets: test/backends/packets.test.ts. */
export const FAKE_CASES: readonly FakeCase[] = Object.entries(VERBS).map(([name, steps]) => ({
  name,
  steps,
}));
