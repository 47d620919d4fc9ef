import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { finished } from "../../agent/backends/backend.ts";
import { KernelTable } from "../../agent/backends/kernel-table.ts";
import { ofFamily } from "../../api/cidr.ts";
import { FakeIptablesDataplane } from "../doubles/iptables/backend.ts";
import type { FakeIptables } from "../doubles/iptables/iptables.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { homeFact } from "./address-plan.ts";
import type { Packet } from "./packet.ts";
import { modelOf, planOf, setAll } from "./rendered.ts";
import { type Outcome, trace } from "./trace.ts";

const ENDPOINT = "10.1.0.11";
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const OBJECTS = [
  importObject("shop/web", ["241.0.0.10", "198.51.100.7"], [HTTP]),
  sliceObject("web-c1", "shop/web", { cluster: "c1" }, [{ ...HTTP, port: 8080 }], [ENDPOINT]),
  importObject("shop/none", ["241.0.0.11"], [HTTP]),
];
const node = homeFact();
const OPTIONS = {
  family: "IPv4",
  clusterSetCidrs: ofFamily(node.clusterSetCidrs, "IPv4"),
  explicitVipCidrs: ofFamily(node.explicitVipCidrs, "IPv4"),
  masquerade: { mode: "none", podCidrs: node.podCidrs },
} as const;

const packet = (from: Packet["from"], source: string, destination: string): Packet => ({
  ...{ from, source, destination, protocol: "tcp", port: 80 },
});
/** Two VIPs with an endpoint, for a pod, for the node, and for the endpoint itself. */
const SERVED = ["241.0.0.10", "198.51.100.7"].flatMap((vip) => [
  packet("pod", "10.1.0.13", vip),
  packet("host", "172.20.1.11", vip),
  packet("pod", ENDPOINT, vip),
]);
/** A VIP without endpoints, and an unused one. */
const REFUSED = ["241.0.0.11", "241.0.0.99"].flatMap((vip) => [
  packet("pod", "10.1.0.13", vip),
  packet("host", "172.20.1.11", vip),
]);

/** A foreign rule in a built-in chain or a foreign one, of those that the tracer supports. */
function foreignRule(table: "nat" | "filter", leads: readonly string[]): fc.Arbitrary<string> {
  const where = fc.constantFrom(
    ...["", "", "-d 241.0.0.0/9", "-d 10.0.0.0/8", "! -d 241.0.0.0/8", "! -d 10.0.0.0/8"],
    ...["-d 198.51.100.7/32", "-s 10.1.0.11/32", "-p udp", "-p tcp -m tcp --dport 80"],
    ...["-p tcp -m tcp --dport 443", "-m conntrack --ctstate RELATED,ESTABLISHED"],
    ...["! --ctstate NEW", "--ctstate DNAT", "--ctstate NEW,DNAT"].map(
      (is) => `-m conntrack ${is}`,
    ),
  );
  const refusals = table === "filter" ? ["-j DROP", "-j REJECT"] : [];
  const verdicts = ["-j ACCEPT", "-j RETURN", ...refusals];
  const jumps = leads.flatMap((name) => [`-j ${name}`, `-g ${name}`]);
  return fc
    .tuple(where, fc.constantFrom("", ...verdicts, ...jumps))
    .map((parts) => parts.join(" "));
}

const BASE_CHAINS = [
  ...(["PREROUTING", "OUTPUT", "POSTROUTING"] as const).map((chain) => ["nat", chain] as const),
  ...(["FORWARD", "OUTPUT"] as const).map((chain) => ["filter", chain] as const),
];

/** Foreign chains A to C, each leading down the alphabet only, and jumps to them at the head of a base chain. */
const intrusion = fc.constantFrom(...BASE_CHAINS).chain(([table, base]) => {
  const names = ["A", "B", "C"].map((name) => `${name}-${base}`);
  const rules = (leads: readonly string[]) => fc.array(foreignRule(table, leads), { maxLength: 3 });
  return fc
    .tuple(rules(names), ...names.map((_, i) => rules(names.slice(i + 1))))
    .map(([heads, ...chains]) =>
      [
        `*${table}`,
        ...names.map((name) => `:${name} - [0:0]`),
        ...chains.flatMap((lines, i) => lines.map((rule) => `-A ${names[i]} ${rule}`)),
        ...heads.map((rule) => `-I ${base} 1 ${rule}`),
        "COMMIT\n",
      ].join("\n"),
    );
});

type Change = (kernel: FakeIptables) => string;

/** Our present jumps, to be deleted or repeated. */
function jumpsIn(kernel: FakeIptables, table: "nat" | "filter"): string[] {
  return kernel.save(table).match(/(?<=^-A )(?!CSP-).* -j CSP-.*$/gm) ?? [];
}

const anyTable = fc.constantFrom("nat", "filter");
const anyIndex = fc.nat();
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 5, arbitrary: intrusion.map((text) => () => text) },
  anyTable.map((table) => () => `*${table}\n-F\nCOMMIT\n`),
  fc.constantFrom(...BASE_CHAINS).map(
    ([table, base]) =>
      () =>
        `*${table}\n-F ${base}\nCOMMIT\n`,
  ),
  fc.tuple(anyTable, anyIndex, fc.constantFrom("-D", "-I", "-A")).map(
    ([table, index, verb]): Change =>
      (kernel) => {
        const jumps = jumpsIn(kernel, table);
        const jump = jumps[index % Math.max(jumps.length, 1)];
        return jump === undefined ? "" : `*${table}\n${verb} ${jump}\nCOMMIT\n`;
      },
  ),
  fc.tuple(anyIndex, fc.constantFrom("-j ACCEPT", "-j RETURN", undefined)).map(
    ([index, rule]): Change =>
      (kernel) => {
        const targets = jumpsIn(kernel, "nat").map((jump) => jump.split(" ").at(-1));
        const name = targets[index % Math.max(targets.length, 1)];
        if (name === undefined) return "";
        return `*nat\n${rule === undefined ? `-F ${name}` : `-I ${name} 1 ${rule}`}\nCOMMIT\n`;
      },
  ),
  // All of ours in nat, as a user would delete them.
  fc.constant<Change>((kernel) => {
    const names = kernel.save("nat").match(/(?<=^:)CSP-\S+/gm) ?? [];
    return `*nat\n-F\n${names.map((name) => `-X ${name}\n`).join("")}COMMIT\n`;
  }),
);

/** Packets with a wrong result, except those that foreign rules reject. */
function amiss(kernel: FakeIptables): string[] {
  const tables = kernel.tables;
  const faults: string[] = [];
  const look = (one: Packet, isFine: (outcome: Outcome) => boolean) => {
    for (const outcome of trace(tables, one)) {
      if (!isFine(outcome))
        faults.push(JSON.stringify({ one, fate: outcome.fate, by: outcome.rules }));
    }
  };
  const byGuard = ({ rules }: Outcome) => rules.at(-1)?.startsWith("-A CSP-GUARD") === true;
  for (const one of SERVED) {
    look(one, (outcome) => {
      const { fate } = outcome;
      if (fate.fate !== "sent") return fate.fate !== "untouched" && !byGuard(outcome);
      return fate.to === `${ENDPOINT}:8080` && (one.source !== ENDPOINT || fate.masquerade);
    });
  }
  for (const one of REFUSED) look(one, ({ fate }) => /^(rejected|dropped)$/.test(fate.fate));
  return faults;
}

/** A node that the agent has programmed. */
async function settled() {
  const dataplane = new FakeIptablesDataplane(OPTIONS);
  const table = new KernelTable(dataplane);
  const repair = async () => {
    table.clear();
    setAll(table, planOf(modelOf(OBJECTS, node), node), "IPv4");
    await table.read();
    const change = finished(table.change());
    await table.write(change);
    return change;
  };
  await repair();
  return { table, kernel: dataplane.kernel, repair };
}

test("a drift check finds and repairs every external change of jumps and first-level chains that affects packets", async () => {
  let found = 0;
  const property = fc.asyncProperty(
    fc.array(change, { minLength: 1, maxLength: 4 }),
    async (script) => {
      const { table, kernel, repair } = await settled();
      assert.deepEqual((await table.check()).drift, []);
      for (const each of script) {
        const text = each(kernel);
        const { exitCode } = text === "" ? { exitCode: 0 } : kernel.restore(text);
        // The kernel has rejected these changes.
        assert.ok(exitCode === 0 || exitCode === 4);
      }
      const { drift } = await table.check();
      if (drift.length === 0) {
        assert.deepEqual(amiss(kernel), []);
        assert.equal((await repair()).toString(), "", "what does no harm is left alone");
        return;
      }
      found++;
      assert.ok(!(await repair()).empty, "what was found is mended");
      assert.deepEqual(amiss(kernel), []);
      assert.deepEqual((await table.check()).drift, []);
      assert.equal((await repair()).toString(), "", "once");
    },
  );
  await fc.assert(property, { numRuns: 400 });
  assert.ok(found > 50);
});
