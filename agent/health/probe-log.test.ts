import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { ProbeLog } from "./probe-log.ts";
import type { Group } from "./watched-endpoints.ts";

const ENDPOINT = { address: "10.2.0.1", port: 80 };
const MEMBERS = new Map([["10.2.0.1:80", { ...ENDPOINT, isHere: false }]]);

function groupOf(namespace: string, i = 0): Group {
  const name = `${namespace}/n${i} c2 IPv4 80`;
  return { name, namespace, cluster: "c2", isOwn: false, members: MEMBERS };
}

test("a namespace with thousands of groups takes neither the turn nor the place of a group of another one", async () => {
  const clock = new FakeClock();
  const events = { probed: () => undefined } as never;
  const log = new ProbeLog(() => Promise.resolve("accepted"), clock, events);
  const web = groupOf("shop");
  const greedy = Array.from({ length: 5_000 }, (_, i) => groupOf("evil", i));
  assert.equal(log.due([...greedy, web]).indexOf(web), 1);
  await log.calibrate(ENDPOINT, "c2", [web]);
  assert.deepEqual(log.due([web]), []);
  await log.calibrate(ENDPOINT, "c2", greedy);
  assert.equal(log.reachOf(web), "works");
  assert.equal(log.due(greedy).length, 5_000 - 4_096 + 1, "others have the rest");
  clock.advance(60_000);
  assert.equal(log.due([...greedy, web]).indexOf(web), 1);
});
