import assert from "node:assert/strict";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import { changedChains } from "../backends/tested-backend.ts";
import { blockWith } from "../e2e/guide.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { evaluate, startServer } from "../lab/programs.ts";
import { sendSegment } from "../lab/tcp-segment.ts";
import { eventually } from "../stages/agent-process.ts";

/** Runs a piece of code in a namespace, with the table of both families and what connects; it prints its result. */
async function run(node: Namespace, code: string): Promise<unknown> {
  const script = `
    import { parseCidr } from "@/api/cidr.ts";
    import { HealthTable } from "@/agent/health/health-table.ts";
    import { tcpConnect } from "@/agent/system/tcp-connect.ts";
    const stop = new AbortController().signal;
    const ranges = ["241.0.0.0/8", "198.51.100.0/24", "fd00:241::/108"].map(parseCidr);
    const table = new HealthTable(["IPv4", "IPv6"], ranges);
    console.log(JSON.stringify(await (async () => { ${code} })()));
    process.exit(0);`;
  const [result] = await evaluate(node, script);
  return result;
}

const ONE = `{ address: "10.2.0.1", port: 80, cluster: "c2", scope: "cluster", group: "", isShown: true, isPartial: false, isTrial: false, isExpired: false, expires: 300000 }`;
const SIX = `{ address: "fd00:2::1", port: 8080, cluster: "", scope: "endpoint", group: "", isShown: false, isPartial: false, isTrial: true, isExpired: false, expires: 1000000 }`;

/** Of the longest names. */
const NAMES = { importKey: `${"n".repeat(63)}/${"s".repeat(63)}`, cluster: "c".repeat(63) };
const MEMBER = `{ address: "fd00:2::2", port: 60000, cluster: "${NAMES.cluster}", scope: "group", group: "${NAMES.importKey} ${NAMES.cluster} IPv6 60000", isShown: false, isPartial: true, isTrial: true, isExpired: true, expires: 1000000 }`;

/** Leads connections to the VIP 241.0.0.1:80 to the pod web. */
const TO_WEB =
  "add table ip vip; add chain ip vip in { type nat hook prerouting priority dstnat; }; " +
  "add rule ip vip in ip daddr 241.0.0.1 tcp dport 80 dnat to 10.1.0.11:8080";

const PODS = { web: ["10.1.0.11"], client: ["10.1.0.12"], other: ["10.1.0.13"] };
const CONNECT = ["bash", "-c", "exec 3<>/dev/tcp/241.0.0.1/80"];

/** Drops what comes to the port, or to any, of a pod. */
async function drop(pod: Namespace, port?: number): Promise<void> {
  const to = port === undefined ? [] : ["--dport", `${port}`];
  await pod.exec(["iptables", "-A", "INPUT", "-p", "tcp", ...to, "-j", "DROP"]);
}

/** Counts packets that match; returns what waits until one has come. */
async function counting(node: Namespace, match: string): Promise<() => Promise<void>> {
  await node.exec([
    "nft",
    "add table inet seen; add chain inet seen in { type filter hook prerouting priority 0; }; " +
      `add rule inet seen in ${match} counter`,
  ]);
  return () =>
    eventually(async () => {
      assert.match(await node.exec(["nft", "list", "table", "inet", "seen"]), /counter packets 1 /);
    });
}

test("verdicts are kept by the kernel, and the table is written once", async () => {
  await using lab = await Lab.oneNode(PODS);
  const node = lab.node("c1", "n1");
  const found = await run(
    node,
    `await table.install(stop); await table.add([${ONE}, ${SIX}, ${MEMBER}]); return table.silent();`,
  );
  assert.ok(Array.isArray(found));
  const kept = [ONE, SIX, MEMBER].map((text) => runInNewContext(`(${text})`));
  const inOrder = (all: { address: string }[]) =>
    all.toSorted((a, b) => a.address.localeCompare(b.address));
  assert.deepEqual(
    inOrder(found.map((one) => ({ ...one, expires: one.expires > 200_000 }))),
    inOrder(kept.map((one) => ({ ...one, expires: true }))),
  );
  const shown = await node.exec(["nft", "list", "ruleset"]);
  assert.match(shown, /10\.2\.0\.1 \. 80 timeout 5m .*comment "cluster c2"/);
  const left = await run(
    node,
    `await table.install(stop);
     await table.remove([${SIX}, { address: "10.9.0.9", port: 9 }]);
     const taken = await table.take([${MEMBER}, { address: "fd00:9::9", port: 9 }]);
     return [taken.map(({ address }) => address), (await table.silent()).map(({ address }) => address), await table.uninstall(), await table.uninstall(), await table.silent()];`,
  );
  assert.deepEqual(
    left,
    [["fd00:2::2"], ["10.2.0.1"], 40, 0, []],
    "a second installation keeps the verdicts",
  );
  assert.equal(await node.exec(["nft", "list", "ruleset"]), "");
});

test("the command of the guide deletes one verdict, and no other", async () => {
  await using lab = await Lab.oneNode(PODS);
  const node = lab.node("c1", "n1");
  const silent = `{ address: "10.2.0.11", port: 8080, cluster: "c2", scope: "endpoint", group: "", isShown: true, isPartial: false, isTrial: false, isExpired: false, expires: 300000 }`;
  await run(node, `await table.install(stop); await table.add([${ONE}, ${silent}]); return true;`);
  await node.exec(["sh", "-ec", blockWith("connections.md", "nft delete element")]);
  const left = await run(node, "return (await table.silent()).map(({ address }) => address);");
  assert.deepEqual(left, ["10.2.0.1"]);
});

test("a table that another program has changed is replaced", async () => {
  await using lab = await Lab.oneNode(PODS);
  const node = lab.node("c1", "n1");
  const table = "ip clusterset-health";
  const commands = [
    `nft flush chain ${table} answered`,
    ...Object.values(changedChains(table, "sent")),
  ];
  const code = `
    const { execFileSync } = await import("node:child_process");
    const list = () => execFileSync("nft", ["list", "table", ..."${table}".split(" ")], { encoding: "utf8" });
    const install = () => table.install(stop);
    const found = [await install(), await install()];
    const written = list();
    for (const command of ${JSON.stringify(commands)}) {
      execFileSync("sh", ["-c", command]);
      found.push(await install(), await install(), list() === written);
    }
    return found;`;
  const repaired = commands.flatMap(() => [true, false, true]);
  assert.deepEqual(await run(node, code), [true, false, ...repaired]);
});

test("clients that an endpoint has accepted are known, with their addresses; a probe of the node is not", async () => {
  await using lab = await Lab.oneNode(PODS);
  await startServer(lab.pod("c1", "n1", "web"), "--name", "web");
  const node = lab.node("c1", "n1");
  await run(node, "await table.install(stop); return true;");
  const own = `
    await tcpConnect({ address: "10.1.0.11", port: 8080 });
    await new Promise((done) => setTimeout(done, 100));
    return table.answered();`;
  assert.deepEqual(await run(node, own), []);
  await node.exec(["nft", TO_WEB]);
  await lab.pod("c1", "n1", "client").exec(CONNECT);
  await lab.pod("c1", "n1", "client").exec(CONNECT);
  const found =
    "return (await table.answered()).map(({ age, ...one }) => ({ ...one, isNew: age < 60_000 }));";
  assert.deepEqual(await run(node, found), [
    { address: "10.1.0.11", port: 8080, client: "10.1.0.12", isNew: true },
  ]);
  assert.deepEqual(await run(node, "return table.overdue();"), []);
});

test("an endpoint that owes an answer is known with its clients, until it answers one of them", async () => {
  await using lab = await Lab.oneNode(PODS);
  const [node, web] = [lab.node("c1", "n1"), lab.pod("c1", "n1", "web")];
  await startServer(web, "--name", "web");
  await web.exec(["iptables", "-A", "INPUT", "-s", "10.1.0.12", "-p", "tcp", "-j", "DROP"]);
  await run(node, "await table.install(stop); return true;");
  await node.exec(["nft", TO_WEB]);
  const waits = lab.pod("c1", "n1", "client").spawn(CONNECT);
  const overdue = `
    let all = [];
    while (!(all[0]?.repeats > 0)) all = await table.overdue();
    return all.map(({ age, repeatedAge, repeats, ...one }) => ({ ...one, isLate: age >= 900 && repeatedAge < age }));`;
  assert.deepEqual(await run(node, overdue), [
    { address: "10.1.0.11", port: 8080, syns: 1, clients: ["10.1.0.12"], isLate: true },
  ]);
  await waits.stop();
  const forgotten = `await table.forget([{ address: "10.1.0.11", port: 8080 }, { address: "10.9.9.9", port: 1 }]); return table.overdue();`;
  assert.deepEqual(await run(node, forgotten), []);
  const again = lab.pod("c1", "n1", "client").spawn(CONNECT);
  await run(node, overdue);
  // Its next SYN, a second later, would be owed again.
  await again.stop();
  await lab.pod("c1", "n1", "other").exec(CONNECT);
  assert.deepEqual(await run(node, "return table.overdue();"), []);
});

for (const [family, ip, vip, far] of [
  ["IPv4", "ip", "241.0.0.1", "10.2.0.1"],
  ["IPv6", "ip6", "fd00:241::1", "fd00:2::1"],
] as const) {
  const verdictOn = (address: string, port: number) =>
    `{ address: "${address}", port: ${port}, cluster: "c2", scope: "endpoint", group: "", isShown: true, isPartial: false, isTrial: false, isExpired: false, expires: 300000 }`;

  test(`${family}: an answer that arrives by another link than that to the endpoint is forged: it clears nothing`, async () => {
    await using lab = await Lab.oneNode(PODS);
    const node = lab.node("c1", "n1");
    const [web, client, other] = ["web", "client", "other"].map((name) =>
      lab.pod("c1", "n1", name),
    );
    assert.ok(web && client && other);
    const endpoint = { address: web.address(family), port: 8080 };
    const caller = { address: client.address(family), port: 4000 };
    const drops = `add table ${ip} deaf; add chain ${ip} deaf in { type filter hook input priority 0; }; add rule ${ip} deaf in meta l4proto tcp drop`;
    await web.exec(["nft", drops]);
    const verdict = verdictOn(endpoint.address, endpoint.port);
    await run(node, `await table.install(stop); await table.add([${verdict}]); return true;`);
    const chain = `${ip} vip in`;
    const [open, close] = family === "IPv6" ? ["[", "]"] : ["", ""];
    await node.exec([
      "nft",
      `add table ${ip} vip; add chain ${chain} { type nat hook prerouting priority dstnat; }; ` +
        `add rule ${chain} ${ip} daddr ${vip} tcp dport 80 dnat to ${open}${endpoint.address}${close}:8080`,
    ]);
    const came = await counting(
      node,
      `${ip} saddr ${endpoint.address} ct direction reply tcp flags & (syn|ack) == (syn|ack)`,
    );
    await sendSegment(client, "SYN", caller, { address: vip, port: 80 });
    await sendSegment(other, "SYN-ACK", endpoint, caller);
    await came();
    const left =
      "return [(await table.silent()).length, (await table.overdue()).length, await table.answered()];";
    assert.deepEqual(await run(node, left), [1, 1, []]);
  });

  test(`${family}: a packet that answers nothing, which a pod sends in the name of an endpoint, ends no verdict`, async () => {
    await using lab = await Lab.oneNode(PODS);
    const node = lab.node("c1", "n1");
    await run(
      node,
      `await table.install(stop); await table.add([${verdictOn(far, 80)}]); return true;`,
    );
    const came = await counting(node, `${ip} saddr ${far} tcp sport 80`);
    const to = { address: lab.pod("c1", "n1", "web").address(family), port: 4000 };
    await sendSegment(lab.pod("c1", "n1", "client"), "SYN-ACK", { address: far, port: 80 }, to);
    await came();
    const left = await run(node, "return (await table.silent()).map(({ address }) => address);");
    assert.deepEqual(left, [far]);
  });
}

test("hundreds of clients of an endpoint that does not exist do not hide another one", async () => {
  await using lab = await Lab.oneNode(PODS);
  const node = lab.node("c1", "n1");
  await drop(lab.pod("c1", "n1", "web"));
  await run(node, "await table.install(stop); return true;");
  await node.exec([
    "nft",
    "add table ip vip; add chain ip vip in { type nat hook prerouting priority dstnat; }; " +
      "add rule ip vip in ip daddr 241.0.0.1 dnat to 10.1.0.11; " +
      "add rule ip vip in ip daddr 241.0.0.2 tcp dport 80 dnat to 10.1.0.11:81",
  ]);
  const connects = `
    import socket, time
    def call(vip):
      one = socket.socket(); one.setblocking(False); one.connect_ex((vip, 80)); return one
    all = [call("241.0.0.1") for _ in range(600)] + [call("241.0.0.2")] + [call("241.0.0.1") for _ in range(300)]
    time.sleep(60)`;
  lab
    .pod("c1", "n1", "client")
    .spawn(["python3", "-c", connects.replaceAll("\n    ", "\n").trim()]);
  const found = `
    let all = [];
    while (all.length === 0) all = (await table.overdue()).filter((one) => one.repeats > 0);
    await new Promise((done) => setTimeout(done, 500));
    return (await table.overdue()).filter((one) => one.repeats > 0).map(({ port }) => port).sort();`;
  assert.deepEqual(await run(node, found), [80, 81]);
});

test("a connect ends as its endpoint does: accepted, refused or silent; a stop ends it, too", async () => {
  await using lab = await Lab.oneNode(PODS);
  await startServer(lab.pod("c1", "n1", "web"), "--name", "web");
  const node = lab.node("c1", "n1");
  await node.exec(["ip", "route", "add", "blackhole", "10.9.0.0/24"]);
  await node.exec(["ip", "route", "add", "unreachable", "10.9.1.0/24"]);
  await drop(lab.pod("c1", "n1", "web"), 81);
  const connects = [
    ["10.1.0.11", 8080, "accepted"],
    ["10.1.0.11", 82, "refused"],
    ["10.1.0.11", 81, "silent"],
    ["10.9.1.1", 80, "silent"],
    ["10.9.0.1", 80, "unknown"],
    ["fd00:9::1", 80, "silent"],
  ] as const;
  const ends = connects.map(
    ([address, port]) => `tcpConnect({ address: "${address}", port: ${port} })`,
  );
  assert.deepEqual(
    await run(node, `return Promise.all([${ends.join(", ")}]);`),
    connects.map(([, , end]) => end),
  );
  const stopped = `tcpConnect({ address: "10.1.0.11", port: 81 }, AbortSignal.abort())`;
  assert.equal(await run(node, `return ${stopped};`), "unknown");
});
