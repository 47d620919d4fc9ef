import assert from "node:assert/strict";
import { test } from "node:test";
import { FAMILIES, type Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { FakeIptables } from "../doubles/iptables/iptables.ts";
import { cidr } from "../generators/facts.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { homeFact } from "./address-plan.ts";
import { rendered } from "./rendered.ts";
import { trace } from "./trace.ts";

/**
 * The exact number of rules for N imports with M endpoints each, so that no change increases it unnoticed. Ours: chains and rules
 * of `CSP-` and the jumps to them.
 */
interface World {
  readonly imports: number;
  readonly endpoints: number;
  readonly ports?: number;
  readonly spec?: object;
  /** VIPs by number; consecutive ones of the ClusterSet CIDR by default. */
  readonly vip?: (i: number) => string;
}

const inRow = (family: Family) => (i: number) =>
  family === "IPv4" ? `241.0.${i >> 8}.${i & 255}` : `fd00:241::${(i + 1).toString(16)}`;
const explicit = (i: number) => `198.51.100.${i + 1}`;
/** All over the CIDR, as hashes are. */
const scattered = (i: number) => {
  const bits = (i * 2654435761) % 2 ** 24;
  return `241.${bits >> 16}.${(bits >> 8) & 255}.${bits & 255}`;
};

function kernel(world: World, family: Family = "IPv4"): FakeIptables {
  const { imports, endpoints, ports = 1, spec, vip = inRow(family) } = world;
  const explicitVipCidrs = vip === explicit ? [cidr("198.51.100.0/24")] : [];
  const fake = rendered(objectsOf(), { ...homeFact(), explicitVipCidrs }, "none").get(family);
  assert.ok(fake);
  return fake;

  function objectsOf(): object[] {
    const numbers = [...Array(ports).keys()];
    const origin = { cluster: "c2", region: "eu-west" };
    return [...Array(imports).keys()].flatMap((i) => {
      const key: ObjectKey = `demo/s${i}`;
      const named = numbers.map((p) => ({ name: `p${p}`, port: 80 + p }));
      const addresses = [...Array(endpoints).keys()].map((e) => addressOf(e, family));
      const slices = endpoints === 0 ? [] : [sliceObject(`s${i}`, key, origin, named, addresses)];
      return [importObject(key, [vip(i)], named, spec), ...slices];
    });
  }
}

function addressOf(i: number, family: Family): string {
  return family === "IPv4"
    ? `10.2.${i >> 7}.${(i & 127) + 1}`
    : `fd00:10:2::${(i + 1).toString(16)}`;
}

/** `chains/rules` of ours in each table, without the constant chain that compares source and destination. */
function sizeOf(fake: FakeIptables): { nat: string; filter: string } {
  const size = (name: "nat" | "filter") => {
    const all = [...fake.table(name).chains];
    const chains = all.flatMap(([chain, one]) => (chain === "CSP-HAIRPIN" ? [] : [one]));
    const rules = chains.reduce((sum, chain) => sum + chain.rules.length, 0);
    return `${chains.filter((chain) => !chain.policy).length}/${rules}`;
  };
  return { nat: size("nat"), filter: size("filter") };
}

const of = (imports: number, endpoints: number, more: Partial<World> = {}): World => ({
  ...{ imports, endpoints },
  ...more,
});
const AFFINITY = { spec: { sessionAffinity: "ClientIP" } };

const BUDGETS: readonly [string, World, string, string][] = [
  ["nothing", of(0, 0), "2/4", "1/5"],
  ["a VIP: two chains that lead to a rule for each port", of(1, 0), "4/7", "1/5"],
  ["1 x 1: a chain for the import, a rule for the endpoint", of(1, 1), "5/8", "1/5"],
  ["1 x 100", of(1, 100), "5/107", "1/5"],
  ["10 x 3", of(10, 3), "32/64", "1/5"],
  ["100 x 3", of(100, 3), "218/520", "1/5"],
  ["1000 x 3: 272 chains are shared", of(1000, 3), "1274/4276", "1/5"],
  ["10 x 3, two ports", of(10, 3, { ports: 2 }), "42/104", "1/5"],
  ["10 x 3, affinity: a second rule for each endpoint", of(10, 3, AFFINITY), "32/94", "1/5"],
  ["an explicit VIP: also two chains for the guard", of(1, 3, { vip: explicit }), "6/14", "4/10"],
  ["17 explicit VIPs", of(17, 3, { vip: explicit }), "53/125", "35/57"],
];

for (const [name, world, nat, filter] of BUDGETS) {
  test(`${name}: ${nat} in nat, ${filter} in filter`, () => {
    assert.deepEqual(sizeOf(kernel(world)), { nat, filter });
  });
}

const HTTP = { protocol: "tcp", port: 80 } as const;

test("IPv6 has as many chains and rules as IPv4", () => {
  const [four, six] = FAMILIES.map((family) =>
    sizeOf(kernel({ imports: 100, endpoints: 3 }, family)),
  );
  assert.deepEqual(six, four);
});

test("the number of rules evaluated for a first packet grows slowly with the number of imports", () => {
  const worst = (imports: number) => {
    const fake = kernel({ imports, endpoints: 1, vip: scattered });
    const asked = [...Array(imports).keys()].flatMap((i) => {
      const packet = {
        from: "pod",
        source: "10.1.0.13",
        destination: scattered(i),
        ...HTTP,
      } as const;
      return trace(fake.tables, packet).map((outcome) => {
        assert.equal(outcome.fate.fate, "sent", packet.destination);
        return outcome.asked;
      });
    });
    return Math.max(...asked);
  };
  assert.deepEqual([10, 100, 2000].map(worst), [23, 34, 51]);
});

test("a hairpin is found by two rules for each bit of an address, however many endpoints there are", () => {
  const evaluated = (endpoints: number) => {
    const fake = kernel({ imports: 1, endpoints });
    const packet = { from: "pod", source: "10.2.0.1", ...HTTP } as const;
    const outcomes = trace(fake.tables, { ...packet, destination: inRow("IPv4")(0) });
    const [own, ...others] = outcomes.filter(({ fate }) => "masquerade" in fate && fate.masquerade);
    const sent = { fate: "sent", to: "10.2.0.1:80", masquerade: true };
    assert.deepEqual([own?.fate, others], [sent, []]);
    return own?.asked;
  };
  assert.deepEqual([16, 100, 400].map(evaluated), [73, 73, 73]);
});

test("one rule in each of our hooks is evaluated for traffic to other addresses", () => {
  const fake = kernel({ imports: 100, endpoints: 3 });
  for (const from of ["pod", "host"] as const) {
    const packet = { from, source: "10.1.0.13", destination: "10.2.0.1", ...HTTP };
    const asked = trace(fake.tables, packet).map(({ asked }) => asked);
    assert.deepEqual(asked, [3]);
  }
});
