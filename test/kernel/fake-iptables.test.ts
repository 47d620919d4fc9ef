import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { toolsOf } from "../../agent/backends/iptables/flavour.ts";
import { FAKE_CASES, type Step } from "../doubles/iptables/cases.ts";
import { FakeIptables } from "../doubles/iptables/iptables.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";

const SPEC = { clusters: [{ id: "c1", nodes: [{ name: "n1", pods: {} }] }] };
const EMPTY = /^:(PREROUTING|INPUT|FORWARD|OUTPUT|POSTROUTING) ACCEPT$/;

for (const flavour of ["nft", "legacy"] as const) {
  describe(`the fake iptables behaves like the ${flavour} flavour`, () => {
    let lab: Lab;
    before(async () => {
      lab = await Lab.create(SPEC);
    });
    after(() => lab.remove());

    /** Runs the same texts on the fake and in the kernel, and compares every ending and every listing. */
    async function compare(steps: readonly Step[]): Promise<void> {
      const node = lab.node("c1", "n1");
      const { save, restore } = toolsOf(flavour, "IPv4");
      await clear(node, restore, await node.exec(save));
      const fake = new FakeIptables("IPv4");
      for (const { text, accepted } of steps) {
        const { exitCode, stderr } = fake.restore(text);
        assert.equal(exitCode === 0, accepted, `${text}${stderr}`);
        const real = await node.run([...restore, "--noflush", "-w", "5"], { stdin: text });
        assert.equal(exitCode === 0, real.code === 0, `${text}${real.stderr}`);
        if (flavour === "nft") assert.equal(exitCode, real.code, `${text}${real.stderr}`);
        assert.deepEqual(tables(fake.save()), tables(await node.exec(save)), text);
      }
    }

    for (const { name, steps } of FAKE_CASES) test(name, () => compare(steps));
  });
}

/** Deletes all chains and rules that a listing shows; policies, too, go back. */
async function clear(node: Namespace, restore: readonly string[], listing: string): Promise<void> {
  const sections = [...listing.matchAll(/^\*(\w+)\n((?:[:-].*\n)*)COMMIT$/gm)].map(
    ([, table, body = ""]) => {
      const chains = [...body.matchAll(/^:(\S+) (\S+)/gm)];
      const policies = chains.filter(([, , policy]) => policy === "DROP");
      const own = chains.filter(([, , policy]) => policy === "-");
      const lines = [
        ...policies.map(([, name]) => `:${name} ACCEPT [0:0]`),
        "-F",
        ...own.map(([, name]) => `-X ${name}`),
      ];
      return `*${table}\n${lines.join("\n")}\nCOMMIT\n`;
    },
  );
  const { code, stderr } = await node.run([...restore, "--noflush"], { stdin: sections.join("") });
  assert.equal(code, 0, stderr);
}

/** Declarations and rules by table, without counters; a table with nothing in it is none. */
function tables(listing: string): Record<string, string[]> {
  const found = [...listing.matchAll(/^\*(\w+)\n((?:[:-].*\n)*)COMMIT$/gm)].map(
    ([, table = "", body = ""]) => {
      const lines = body.split("\n").filter((line) => line !== "");
      return [table, lines.map((line) => line.replace(/ \[\d+:\d+\]$/, ""))] as const;
    },
  );
  const used = found.filter(([, lines]) => lines.some((line) => !EMPTY.test(line)));
  return Object.fromEntries(used.sort(([a], [b]) => (a < b ? -1 : 1)));
}
