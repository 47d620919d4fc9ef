import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { toolsOf } from "../../agent/backends/iptables/flavour.ts";
import { Lab } from "../lab/lab.ts";
import { tablesOf, trace } from "../packets/trace.ts";

const SPEC = { clusters: [{ id: "c1", nodes: [{ name: "n1", pods: {} }] }] };
const DESTINATIONS = ["198.51.100.1", "198.51.100.2", "198.51.100.3"] as const;
const CHAINS = ["CSP-A", "CSP-B", "CSP-C"] as const;

/** Rules of one chain; jumps lead down the alphabet only, so that there is no loop. */
function rulesOf(name: string, below: readonly string[]): fc.Arbitrary<string[]> {
  const where = fc.constantFrom(
    "",
    "-d 198.51.100.1/32 ",
    "! -d 198.51.100.2/32 ",
    "-d 198.51.100.2/31 -p udp -m udp --dport 9 ",
    "-m conntrack --ctstate NEW ",
    "-m conntrack --ctstate RELATED,ESTABLISHED ",
    "-m conntrack --ctorigdst 198.51.100.2/31 ",
    "-p tcp ",
  );
  const verdicts = fc.constantFrom("", "-j RETURN", "-j ACCEPT", "-j DROP");
  const leads = below.flatMap((chain) => [`-j ${chain}`, `-g ${chain}`]);
  const target = leads.length === 0 ? verdicts : fc.oneof(verdicts, fc.constantFrom(...leads));
  return fc.array(
    fc.tuple(where, target).map((parts) => `-A ${name} ${parts.join("")}`.trimEnd()),
    { maxLength: 4 },
  );
}

const ruleset = fc
  .tuple(...["OUTPUT", ...CHAINS].map((name, i) => rulesOf(name, CHAINS.slice(i))))
  .map((rules) => {
    const declarations = CHAINS.map((name) => `:${name} - [0:0]`);
    // Equal rules could not be distinguished in the listing, so each has a number.
    const numbered = rules.flat().map((rule, i) => {
      return rule.replace(/^-A (\S+)/, `-A $1 -m comment --comment ${i}`);
    });
    return ["*filter", "-F OUTPUT", ...declarations, ...numbered, "COMMIT", ""].join("\n");
  });

for (const flavour of ["nft", "legacy"] as const) {
  describe(`the tracer and the kernel, ${flavour} flavour`, () => {
    let lab: Lab;
    before(async () => {
      lab = await Lab.create(SPEC);
    });
    after(() => lab.remove());

    test("match the same rules with any jumps, as the counters show", async () => {
      const node = lab.node("c1", "n1");
      const { restore, save } = toolsOf(flavour, "IPv4");
      const property = fc.asyncProperty(ruleset, async (text) => {
        await node.exec([...restore, "--noflush"], { stdin: text });
        const sends = DESTINATIONS.map((address) => `echo x >/dev/udp/${address}/9`).join("; ");
        // DROP shows as EPERM to the sender.
        await node.run(["bash", "-c", `(${sends}) 2>/dev/null`]);
        const listing = await node.exec([...save, "-t", "filter", "-c"]);
        const counted = [...listing.matchAll(/^\[(\d+):\d+\] (-A .*)$/gm)];
        const seen = counted.flatMap(([, count, rule = ""]) =>
          Array<string>(Number(count)).fill(rule),
        );
        const tables = tablesOf(text, "IPv4");
        const expected = DESTINATIONS.flatMap((destination) => {
          const outcomes = trace(tables, {
            from: "host",
            source: node.address(),
            destination,
            protocol: "udp",
            port: 9,
          });
          assert.equal(outcomes.length, 1);
          return outcomes.flatMap(({ rules }) => rules);
        });
        assert.deepEqual(seen.sort(), expected.sort(), text);
      });
      await fc.assert(property, { numRuns: 60 });
    });
  });
}
