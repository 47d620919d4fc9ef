import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { ConntrackStage, PODS, REJECTED, VIP, VIP6 } from "../conntrack/stage.ts";
import type { Process } from "../lab/process.ts";
import { AGENT, eventually } from "../stages/agent-process.ts";

const RESET = { "clusterset-proxy.io/on-endpoint-death": "reset" };
/** Emulation is slow, and a slow machine checks for drift less often. */
const PATIENCE = 600_000;

describe("the agent with IPVS", () => {
  let stage: ConntrackStage;
  const servers = () => stage.node.exec(["ipvsadm", "-Sn"]);
  const guard = () => stage.node.exec(["nft", "list", "table", "ip", "csp-ipvs"]);
  const soon = <T>(check: () => Promise<T> | T) => eventually(check, PATIENCE);
  const prints = (client: Process, word: string) => client.line(new RegExp(`^${word}$`), PATIENCE);
  const answer = (to?: string) => stage.answer(to);
  const restart = async () => {
    await stage.agent.stop();
    await stage.agent.start();
  };
  before(async () => {
    stage = await ConntrackStage.create();
    stage.writeImport();
    await stage.agent.start();
  });
  // A test that failed may have left another state; a restart repairs rules at once.
  beforeEach(async () => {
    stage.agent.signal("SIGCONT");
    stage.writeImport();
    await stage.use(["a", "b"]);
    if (!/^[ab]$/.test(await answer())) await restart();
  });
  after(() => stage[Symbol.asyncDispose]());

  test("logs the sysctls that it has set", () => {
    for (const name of ["conntrack", "expire_nodest_conn", "expire_quiescent_template"]) {
      assert.match(stage.agent.log, new RegExp(`"setting":"net.ipv4.vs.${name}","before":"0"`));
    }
  });

  test("an IPv6 VIP is not a source address of the node's connections", async () => {
    // For a link without an address the kernel selects another of the node's, and this VIP is the closest.
    const { node } = stage;
    await node.exec(["ip", "link", "add", "unnumbered", "type", "dummy"]);
    await node.exec(["ip", "link", "set", "unnumbered", "up"]);
    await node.exec(["ip", "-6", "route", "add", "fd00:241:0:1::/64", "dev", "unnumbered"]);
    const route = await node.exec(["ip", "-6", "route", "get", "fd00:241:0:1::1"]);
    assert.match(route, / src fd00:/);
    assert.doesNotMatch(route, new RegExp(` src ${VIP6} `));
    await node.exec(["ip", "link", "delete", "unnumbered"]);
  });

  test("after a failover new connections use the new endpoint, established ones stay, and failback ends none", async () => {
    await stage.use(["a"]);
    const established = await stage.startClient("tcp", 80);
    await prints(established, "a");
    await stage.use(["b"], ["a"]);
    assert.equal(await answer(), "b");
    assert.match(await servers(), new RegExp(`-a -t ${VIP}:80 -r ${PODS.a}:8080 -m -w 0`));
    await stage.use(["a"]);
    assert.equal(await answer(), "a");
    assert.deepEqual(established.lines, ["started", "connected", "a"]);
    await established.stop();
  });

  test("a UDP client keeps its endpoint on failback while that is ready, unless the import says follow", async () => {
    await stage.use([], ["a"], ["b"]);
    const client = await stage.startClient("udp", 53);
    await prints(client, "b");
    await stage.use(["a"], [], ["b"]);
    const newer = await stage.startClient("udp", 53);
    await prints(newer, "a");
    assert.match(await servers(), new RegExp(`-a -u ${VIP}:53 -r ${PODS.b}:8080 -m -w 0`));
    assert.deepEqual(client.lines, ["started", "b"]);
    stage.writeImport({ "clusterset-proxy.io/udp": "follow" });
    await prints(client, "a");
    await Promise.all([client.stop(), newer.stop()]);
  });

  test("UDP clients that keep their port follow failover and failback, with IPv4 and IPv6", async () => {
    await stage.use(["a"]);
    const clients = [await stage.startClient("udp", 53), await stage.startClient("udp", 53, VIP6)];
    for (const pod of ["a", "b", "a"] as const) {
      await stage.use([pod]);
      await soon(() => {
        for (const { lines } of clients) assert.equal(lines.at(-1), pod);
      });
    }
    for (const client of clients) await client.stop();
  });

  test("if the import requests it, connections to a deleted endpoint are reset; those to an unready one are not", async () => {
    stage.writeImport(RESET);
    await stage.use(["a"]);
    const client = await stage.startClient("tcp", 80);
    await prints(client, "a");
    await stage.use(["b"], ["a"]);
    await stage.use(["b"]);
    await prints(client, "ECONNRESET");
    assert.deepEqual(client.lines, ["started", "connected", "a", "ECONNRESET"]);
  });

  test("without an endpoint, or without the import, new connections are rejected at once, and established ones continue", async () => {
    await stage.use(["a"]);
    const established = await stage.startClient("tcp", 80);
    await prints(established, "a");
    await stage.use([], ["a"]);
    await soon(async () => assert.equal(await answer(), REJECTED));
    stage.removeImport();
    await soon(async () => assert.doesNotMatch(await guard(), /demo\/serve/));
    assert.equal(await answer(), REJECTED);
    assert.match(await servers(), new RegExp(`-a -t ${VIP}:80 -r ${PODS.a}:8080 -m -w 0`));
    const { stdout } = await stage.node.run(["ipvsadm", "-Lnc"]);
    assert.match(stdout, new RegExp(`ESTABLISHED .*${VIP}:80 .*${PODS.a}:8080`));
    assert.deepEqual(established.lines, ["started", "connected", "a"]);
    await established.stop();
  });

  test("the host's services, NodePorts and foreign IPVS servers are not open on a VIP", async () => {
    const { node } = stage;
    const address = node.address("IPv4");
    node.spawn(["socat", "TCP-LISTEN:2222,fork,reuseaddr", "SYSTEM:echo host"]);
    const nodePort = ["-p", "tcp", "--dport", "30080", "-m", "addrtype", "--dst-type", "LOCAL"];
    const to = ["-j", "DNAT", "--to-destination", `${PODS.a}:8080`];
    await node.exec(["iptables", "-t", "nat", "-A", "PREROUTING", ...nodePort, ...to]);
    const server = ["-t", `${VIP}:30081`];
    await node.exec(["ipvsadm", "-A", ...server, "-s", "rr"]);
    await node.exec(["ipvsadm", "-a", ...server, "-r", `${PODS.a}:8080`, "-m"]);
    await soon(async () => assert.equal(await answer(`${address}:30080`), "a"));
    for (const port of [2222, 30080, 30081]) {
      assert.equal(await answer(`${VIP}:${port}`), REJECTED, String(port));
    }
    assert.match(await answer(), /^[ab]$/);
  });

  test("/plan shows the kernel's counters for each destination", async () => {
    await answer();
    const page = await stage.agent.page("/plan/demo/serve");
    const { counts } = JSON.parse(page) as { counts: readonly Record<string, unknown>[] };
    const own = counts.filter(({ vip, protocol }) => vip === VIP && protocol === "TCP");
    const taking = own
      .filter(({ weight }) => weight === 1)
      .map(({ destination }) => String(destination));
    assert.deepEqual(taking.sort(), [`${PODS.a}:8080`, `${PODS.b}:8080`]);
    assert.ok(own.some(({ total }) => Number(total) > 0));
  });

  test("a local program that listens on a VIP's port gets nothing, also while the server is deleted", async () => {
    const { node } = stage;
    node.spawn(["socat", "TCP-LISTEN:80,fork,reuseaddr", "SYSTEM:echo host"]);
    await soon(async () => assert.match(await node.exec(["ss", "-ltn"]), /:80 /));
    assert.match(await answer(), /^[ab]$/);
    const server = ["-t", `${VIP}:80`];
    // A drift check comes five seconds after a start; on a slow machine all others are minutes apart.
    await restart();
    stage.agent.signal("SIGSTOP");
    await node.exec(["ipvsadm", "-D", ...server]);
    assert.equal(await answer(), REJECTED);
    const { code } = await node.run(["curl", "-s", "-m", "5", `http://${VIP}/`]);
    assert.equal(code, 7, "also from the node itself");
    stage.agent.signal("SIGCONT");
    await soon(async () => assert.match(await answer(), /^[ab]$/));
  });

  test("a foreign server at an import's VIP and port stays, the other ports are served, and the fix is logged", async () => {
    const theirs = ["-t", `${VIP}:80`];
    await stage.agent.stop();
    await stage.node.exec(["ipvsadm", "-D", ...theirs]);
    await stage.node.exec(["nft", "delete", "table", "ip", "csp-ipvs"]);
    await stage.node.exec(["ipvsadm", "-A", ...theirs, "-s", "lc"]);
    await stage.node.exec(["ipvsadm", "-a", ...theirs, "-r", "198.18.0.9:9", "-m"]);
    try {
      await stage.agent.start();
      assert.match(stage.agent.log, new RegExp(`"CSP_PLACE_TAKEN".*ipvsadm -D -t ${VIP}:80`));
      const { setAside } = JSON.parse(await stage.agent.page("/plan/demo/serve"));
      const aside = { servicePort: "demo/serve:http", protocol: "TCP", family: "IPv4" };
      assert.deepEqual(setAside, [{ ...aside, reason: "server-foreign" }]);
      assert.equal(await answer(), REJECTED);
      assert.match(
        await servers(),
        new RegExp(`-A -t ${VIP}:80 -s lc\n-a -t ${VIP}:80 -r 198.18.0.9:9`),
      );
      assert.match(await servers(), new RegExp(`-A -u ${VIP}:53 .*flag-3`));
    } finally {
      await stage.node.exec(["ipvsadm", "-D", ...theirs]);
    }
    await soon(async () => assert.match(await answer(), /^[ab]$/));
  });

  test("cleanup removes everything of ours, also after device and tables were deleted, and keeps foreign objects", async () => {
    const { node } = stage;
    await node.exec(["ipvsadm", "-A", "-t", `${VIP}:30083`, "-s", "rr"]);
    await stage.agent.stop();
    await node.exec(["ip", "link", "delete", "csp-ipvs0"]);
    for (const family of ["ip", "ip6"])
      await node.exec(["nft", "delete", "table", family, "csp-ipvs"]);
    const cleanup = [AGENT, "cleanup", "--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];
    const { code } = await node.run(cleanup, { timeout: PATIENCE });
    assert.equal(code, 0);
    const theirs = (await servers()).trim().split("\n");
    assert.ok(theirs.includes(`-A -t ${VIP}:30083 -s rr`));
    for (const line of theirs) assert.doesNotMatch(line, /flag-3|:80 |:53 /);
    assert.doesNotMatch(await stage.node.exec(["nft", "list", "tables"]), /csp-ipvs/);
    assert.notEqual((await stage.node.run(["ip", "link", "show", "csp-ipvs0"])).code, 0);
  });
});
