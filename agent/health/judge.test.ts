import assert from "node:assert/strict";
import { test } from "node:test";
import { type Judgement, judge, type Probed, type ProbeResult } from "./judge.ts";

const RESULTS: Readonly<Record<string, ProbeResult>> = {
  a: "accepted",
  r: "refused",
  s: "silent",
  u: "unknown",
};

/** Endpoints 10.CLUSTER.0.1 and so on, a letter for the result of each. */
function probed(cluster: number, letters: string): Probed[] {
  return letters.split("").map((letter, i) => ({
    endpoint: { address: `10.${cluster}.0.${i + 1}`, port: 80 },
    namespaces: new Set(["demo"]),
    result: RESULTS[letter] ?? "unknown",
  }));
}

/** Suspects, samples of the same cluster, others; the judgement, and how many endpoints show it. */
const CASES: readonly (readonly [string, string, string, Judgement["silent"], number?])[] = [
  ["a", "sss", "ss", "nothing"],
  ["r", "sss", "ss", "nothing"],
  ["s", "aaa", "ss", "endpoints", 1],
  ["s", "ssr", "ss", "endpoints", 1],
  ["sras", "sss", "ss", "endpoints", 2],
  ["ss", "sss", "sa", "cluster", 5],
  ["s", "", "r", "cluster", 1],
  ["s", "sss", "ss", "uplink"],
  ["s", "", "", "uplink"],
  ["u", "sss", "aa", "nothing"],
  ["su", "sss", "aa", "nothing"],
  ["s", "ssu", "aa", "nothing"],
  ["s", "sss", "su", "nothing"],
];

const ONE = { others: probed(3, "a"), suspects: probed(2, "ss") };
const TRAP = probed(4, "a").map((one) => ({ ...one, namespaces: new Set(["mallory"]) }));

test("what one namespace alone lists answers for it alone, unless the cluster has declared its ranges", () => {
  const judged = judge({ ...ONE, samples: TRAP, isDeclared: false });
  assert.deepEqual(judged, {
    ...{ silent: "cluster", endpoints: ONE.suspects.map(({ endpoint }) => endpoint) },
    except: "mallory",
  });
  assert.equal(judge({ ...ONE, samples: TRAP, isDeclared: true }).silent, "endpoints");
  const both = [...TRAP, ...probed(5, "a")];
  assert.equal(judge({ ...ONE, samples: both, isDeclared: false }).silent, "endpoints");
});

test("what a namespace's own endpoints owe says nothing of others", () => {
  const suspects = probed(2, "s").map((one) => ({ ...one, namespaces: new Set(["mallory"]) }));
  const samples = [...TRAP, ...probed(5, "ss")];
  assert.equal(judge({ ...ONE, suspects, samples, isDeclared: false }).silent, "endpoints");
});

for (const [suspects, samples, others, silent, count] of CASES) {
  test(`suspects ${suspects}, samples ${samples || "none"}, others ${others || "none"}: ${silent}`, () => {
    const judgement = judge({
      suspects: probed(2, suspects),
      samples: probed(2, samples).map((one) => ({
        ...one,
        endpoint: { ...one.endpoint, port: 81 },
      })),
      others: probed(3, others),
      isDeclared: false,
    });
    assert.equal(judgement.silent, silent);
    const shown = "endpoints" in judgement ? judgement.endpoints : [];
    assert.equal(shown.length, count ?? 0);
    assert.ok(shown.every(({ address }) => address.startsWith("10.2.")));
  });
}
