import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { PLAIN } from "../output/table.ts";
import { type Attempt, MEANINGS } from "./attempt.ts";
import { nodeWarnings, reachFaults, reachTable } from "./report.ts";

function server(to: string, error?: string): Attempt {
  const outcome = error === undefined ? { isConnected: true } : { isConnected: false, error };
  return { to, kind: "server", ms: 1, ...outcome };
}

function pod(to: string, address: string, error?: string): Attempt {
  return { ...server(to, error), kind: "pod", address };
}

function node(to: string, address: string, error?: string): Attempt {
  return { ...pod(to, address, error), kind: "node" };
}

const ALL = [
  {
    from: "c1",
    attempts: [
      ...[server("c2"), server("c3"), pod("c2", "10.2.0.1"), pod("c3", "10.3.0.1")],
      ...[node("c2", "10.2.0.1"), node("c3", "10.3.0.1", "ETIMEDOUT")],
      node("c3", "fd03::1", "ETIMEDOUT"),
    ],
  },
  {
    from: "c2",
    attempts: [
      server("c1", "ECONNREFUSED"),
      server("c3"),
      pod("c1", "10.1.0.1"),
      pod("c3", "10.3.0.1"),
      pod("c3", "fd03::1", "ETIMEDOUT"),
    ],
  },
  { from: "c3", attempts: [server("hub")] },
];

test("what a node does not reach is one warning for each cluster, and no fault", () => {
  const [warning = "", ...more] = nodeWarnings(ALL);
  assert.match(warning, /^a node of c1 does not reach pods of c3, such as 10\.3\.0\.1: timeout: /);
  assert.match(warning, /detection do: without them, it takes up to 4 s/);
  assert.deepEqual(more, []);
  assert.doesNotMatch(reachFaults(ALL, () => undefined).join(), /node/);
});

test("clusters that are reached alike share a row; an address that is not reached counts for its cluster", () => {
  assert.equal(
    String(reachTable(ALL, PLAIN)),
    `FROM   TO    API SERVER   PODS      PODS FROM A NODE
c1     c2    ok           ok        ok
c1     c3    ok           ok        timeout
c2     c1    refused      ok        -
c2     c3    ok           timeout   -
c3     hub   ok           -         -
`,
  );
});

test("each failure is a sentence with the direction, the address and what it means", () => {
  const urls: Readonly<Record<string, string>> = { c1: "https://10.0.0.1:6443" };
  assert.deepEqual(
    reachFaults(ALL, (to) => urls[to]),
    [
      "pods of c2 do not reach the API server of c1 at https://10.0.0.1:6443: refused: nothing listens there, or a firewall rejects it.",
      "pods of c2 do not reach pods of c3, such as fd03::1: timeout: no answer: a firewall drops packets, or there is no route.",
    ],
  );
});

test("the guide has every word for why something is not reached", () => {
  const guide = readFileSync(`${import.meta.dirname}/../../docs/guides/kubectl-plugin.md`, "utf8");
  const words = Object.keys(MEANINGS).filter((word) => !guide.includes(`\`${word}\``));
  assert.deepEqual(words, []);
});
