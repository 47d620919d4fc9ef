import assert from "node:assert/strict";
import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Lab } from "./lab.ts";
import { request, serve } from "./programs.ts";
import { SCRATCH } from "./removal.ts";
import type { LabSpec } from "./topology.ts";

const SPEC: LabSpec = {
  clusters: [
    { id: "c1", region: "eu-west", nodes: [{ name: "n1", pods: { client: [], web: [] } }] },
    {
      id: "c2",
      region: "us-east",
      nodes: [{ name: "n1" }, { name: "n2", pods: { web: ["10.99.0.7", "fd00:99::7"] } }],
    },
  ],
};

const leftOf = (lab: Lab) => readdirSync("/run/netns").filter((name) => name.startsWith(lab.id));

test("Pods and nodes of every cluster can connect to a pod, which sees their addresses", async (t) => {
  await using lab = await Lab.create(SPEC);
  const server = lab.pod("c2", "n2", "web").spawn(serve("--name", "far", "--udp", "53"));
  await server.line(/serving/);
  const callers = [lab.pod("c1", "n1", "client"), lab.node("c1", "n1"), lab.node("c2", "n1")];
  for (const caller of callers) {
    for (const [family, host] of [
      ["IPv4", "10.99.0.7"],
      ["IPv6", "[fd00:99::7]"],
    ] as const) {
      await t.test(`${caller.path} over ${family}`, async () => {
        for (const target of [`tcp://${host}:8080`, `udp://${host}:53`]) {
          const { name, source } = JSON.parse(await caller.exec(request(target)));
          assert.deepEqual({ name, source }, { name: "far", source: caller.address(family) });
        }
      });
    }
  }
});

test("A node reaches its own pods as their gateway, and pods of one node reach each other", async () => {
  await using lab = await Lab.create(SPEC);
  const [client, web] = [lab.pod("c1", "n1", "client"), lab.pod("c1", "n1", "web")];
  await web.spawn(serve("--name", "near")).line(/serving/);
  for (const [caller, source] of [
    [client, "10.1.0.11"],
    [lab.node("c1", "n1"), "10.1.0.1"],
  ] as const) {
    const answer = JSON.parse(await caller.exec(request(`http://${web.address()}:8080/`)));
    assert.equal(answer.source, source);
  }
});

test("A pod can have an address in another node's range", async () => {
  const nodes = [
    { name: "n1", pods: { client: ["10.1.0.20"] } },
    { name: "n2", pods: { web: ["10.1.0.12", "fd00:10:1::12"] } },
  ];
  await using lab = await Lab.create({ clusters: [{ id: "c1", nodes }] });
  await lab
    .pod("c1", "n2", "web")
    .spawn(serve("--name", "lent"))
    .line(/serving/);
  for (const caller of [lab.pod("c1", "n1", "client"), lab.node("c1", "n1")]) {
    for (const target of ["tcp://10.1.0.12:8080", "tcp://[fd00:10:1::12]:8080"]) {
      assert.equal(JSON.parse(await caller.exec(request(target))).name, "lent", target);
    }
  }
});

test("A node does not return packets for missing pods to the router", async () => {
  await using lab = await Lab.create(SPEC);
  for (const address of ["10.1.0.77", "fd00:10:1::77"]) {
    const { stderr } = await lab.node("c1", "n1").run(["ip", "route", "get", address]);
    assert.match(stderr, /No route to host|unreachable/i);
  }
});

test("Packets to ClusterSetIPs reach the pod's node, which rejects them if no rules are programmed", async () => {
  await using lab = await Lab.create(SPEC);
  const [client, node] = [lab.pod("c1", "n1", "client"), lab.node("c1", "n1")];
  const targets = ["241.0.0.7", "[fd00:241::7]", "1.2.3.4", "10.1.0.77", "[fd00:10:1::77]"];
  const asked = targets.map(async (host) => {
    // A SYN whose ICMP error arrives during connect() only fails when it is resent, 1 s later.
    const { stdout } = await client.run(request("--timeout", "5000", `tcp://${host}:80`));
    assert.equal(JSON.parse(stdout).error, "unreachable", host);
  });
  await Promise.all(asked);
  for (const vip of ["241.0.0.7", "fd00:241::7", "1.2.3.4"]) {
    assert.match(
      await node.exec(["ip", "route", "get", vip]),
      /via (172\.20\.0\.1|fd00:20::1) dev eth0/,
    );
  }
});

test("Two labs of the same spec are isolated from each other", async () => {
  await using one = await Lab.create(SPEC);
  await using two = await Lab.create(SPEC);
  for (const [lab, name] of [
    [one, "of-one"],
    [two, "of-two"],
  ] as const) {
    await lab
      .pod("c2", "n2", "web")
      .spawn(serve("--name", name))
      .line(/serving/);
  }
  for (const [lab, name] of [
    [one, "of-one"],
    [two, "of-two"],
  ] as const) {
    const answer = await lab.pod("c1", "n1", "client").exec(request("tcp://10.99.0.7:8080"));
    assert.equal(JSON.parse(answer).name, name);
  }
});

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
  const outside = [
    "nsenter",
    `--net=/proc/${process.pid}/ns/net`,
    "sh",
    "-c",
    "echo out; exec sleep 300",
  ];
  const left = lab.node("c1", "n1").spawn(outside);
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

test("The error of a program that fails or hangs names its place, its arguments and its last output", async () => {
  await using lab = await Lab.create(SPEC);
  const node = lab.node("c1", "n1");
  await assert.rejects(
    node.exec(["sh", "-c", "echo no such luck >&2; exit 3"]),
    /c1\/n1: sh .*code 3\nno such luck/s,
  );
  await assert.rejects(
    node.exec(["sleep", "60"], { timeout: 50 }),
    /c1\/n1: sleep 60: no end within 50 ms/,
  );
  await assert.rejects(
    node.spawn(["sh", "-c", "echo early >&2"]).line(/ready/),
    /ended before \/ready\/\nearly/,
  );
});
