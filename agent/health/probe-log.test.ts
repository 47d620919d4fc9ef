import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import type { ProbeResult } from "./evidence.ts";
import { ProbeLog } from "./probe-log.ts";
import type { Group } from "./watched-endpoints.ts";

const ENDPOINT = { address: "10.2.0.1", port: 80 };
const MEMBERS = new Map([["10.2.0.1:80", { ...ENDPOINT, isHere: false }]]);

function groupOf(namespace: string, i = 0, cluster = "c2"): Group {
  const name = `${namespace}/n${i} ${cluster} IPv4 80`;
  return { name, namespace, cluster, isOwn: false, members: MEMBERS };
}

function logOf(result: ProbeResult) {
  const clock = new FakeClock();
  const events = { probed: () => undefined } as never;
  return { clock, log: new ProbeLog(() => Promise.resolve(result), clock, events) };
}

test("a namespace with thousands of groups takes neither the turn nor the place of another one", async () => {
  const { clock, log } = logOf("accepted");
  const web = groupOf("shop");
  const greedy = Array.from({ length: 5_000 }, (_, i) => groupOf("evil", i));
  assert.equal(log.due([...greedy, web]).indexOf(web), 1);
  await log.calibrate(ENDPOINT, "c2", [web]);
  assert.deepEqual(log.due([web]), []);
  await log.calibrate(ENDPOINT, "c2", greedy);
  assert.equal(log.reachOf(web), "works");
  assert.equal(log.reachOf(groupOf("shop", 1)), "assumed", "as its cluster");
  assert.equal(log.due(greedy).length, 5_000 - 4_096 + 1, "others have the rest");
  clock.advance(60_000);
  assert.equal(log.due([...greedy, web]).indexOf(web), 1);
  await log.calibrate(ENDPOINT, "c2", [web]);
  for (let i = 0; i < 5_000; i++)
    await log.probe({ address: `10.3.${i >> 8}.${i & 255}`, port: 80 }, "c3", greedy.slice(0, 1));
  const another = { address: "10.2.0.2", port: 80 };
  assert.deepEqual([log.probedAt(ENDPOINT) > 0, log.probedAt(another)], [true, 0]);
});

test("of thousands of blind clusters that a namespace invents, some are reported, and those of others", async () => {
  const { clock, log } = logOf("refused");
  const invented = Array.from({ length: 1_000 }, (_, i) => groupOf("evil", i, `x${i}`));
  for (const age of [0, 0]) {
    await log.calibrate(ENDPOINT, "x0", [...invented, groupOf("shop")]);
    clock.advance(1_000);
    log.observe([{ ...ENDPOINT, age, clients: [] } as never], [], () => false);
  }
  assert.deepEqual([log.blind.size, log.blind.has("c2")], [64, true]);
  const [first = groupOf("evil"), other] = [invented[0], groupOf("shop", 1, "x0")];
  assert.equal(log.reachOf(other), "blind", "as the other group of its cluster");
  const more = Array.from({ length: 4_096 }, (_, i) => ({ ...first, name: `${i}` }));
  const { log: full } = logOf("accepted");
  await full.calibrate(ENDPOINT, "x0", [first, ...more.map((one) => ({ ...one, cluster: "x" }))]);
  assert.equal(full.reachOf(other), "unknown", "its only group was forgotten");
});
