import assert from "node:assert/strict";
import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Lab } from "./lab.ts";
import { SCRATCH } from "./removal.ts";
import type { LabSpec } from "./topology.ts";

const SPEC: LabSpec = {
  clusters: [
    { id: "c1", nodes: [{ name: "n1", pods: { client: [], web: [] } }] },
    { id: "c2", nodes: [{ name: "n1" }, { name: "n2", pods: { web: ["10.99.0.7"] } }] },
  ],
};

const leftOf = (lab: Lab) => readdirSync("/run/netns").filter((name) => name.startsWith(lab.id));

test("Removal leaves no namespace, process or file of the lab, and does not affect others", {
  timeout: 20_000,
}, async () => {
  await using other = await Lab.create(SPEC);
  const lab = await Lab.create(SPEC);
  assert.equal(leftOf(lab).length, 7);
  // A shell that ignores the polite signals, with a child of its own.
  const shell = lab
    .pod("c1", "n1", "web")
    .spawn(["sh", "-c", "trap '' TERM INT HUP; sleep 300 & echo up; wait"]);
  await shell.line(/up/);
  await lab.remove();
  assert.deepEqual(await shell.exited, { code: null, signal: "SIGKILL" });
  assert.deepEqual(leftOf(lab), []);
  assert.equal(existsSync(`${SCRATCH}/${lab.id}`), false);
  assert.equal(leftOf(other).length, 7);
  await lab.remove();
});

test("Removal ends programs that have not entered their namespace yet or have left it", async () => {
  const lab = await Lab.create(SPEC);
  const outside = ["nsenter", `--net=/proc/${process.pid}/ns/net`];
  const left = lab.node("c1", "n1").spawn([...outside, "sh", "-c", "echo out; exec sleep 300"]);
  await left.line(/out/);
  const late = lab.pod("c1", "n1", "web").spawn(["sleep", "300"]);
  await lab.remove();
  for (const program of [left, late]) {
    assert.notEqual(await Promise.race([program.exited, sleep(1_000, "runs")]), "runs");
  }
});

test("The machine's own namespace shows no interface or rule of a lab", async () => {
  const before = readdirSync("/sys/class/net");
  await using lab = await Lab.create(SPEC);
  assert.deepEqual(readdirSync("/sys/class/net"), before);
  const own = readlinkSync("/proc/self/ns/net");
  const seen = [lab.router, lab.node("c1", "n1"), lab.pod("c1", "n1", "web")].map((place) =>
    place.exec(["readlink", "/proc/self/ns/net"]),
  );
  assert.equal(new Set([`${own}\n`, ...(await Promise.all(seen))]).size, 4);
});

test("Legacy iptables of two nodes do not share a lock", async () => {
  await using lab = await Lab.create(SPEC);
  const holder = lab
    .node("c1", "n1")
    .spawn(["sh", "-c", 'exec 9>"$XTABLES_LOCKFILE"; flock 9; echo held; exec sleep 60']);
  await holder.line(/held/);
  const list = ["iptables-legacy", "-w", "1", "-S"];
  assert.notEqual((await lab.node("c1", "n1").run(list)).code, 0);
  assert.equal((await lab.node("c2", "n1").run(list)).code, 0);
});
