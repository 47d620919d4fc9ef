import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ConntrackStage, PODS, VIP, VIP6 } from "../conntrack/stage.ts";
import type { Process } from "../lab/process.ts";
import { AGENT, eventually } from "../support/agent-process.ts";

const RESET = { "clusterset-proxy.io/on-endpoint-death": "reset" };
/** Emulation is slow. */
const PATIENCE = 60_000;
const WRITTEN = "clusterset_agent_kernel_objects_written_total";
const DELETED = "clusterset_agent_kernel_objects_deleted_total";

/** Runs in the guest, where CLUSTERSET_AGENT_BACKEND is set to ipvs by this file itself. */
describe("the agent with IPVS", () => {
  process.env.CLUSTERSET_AGENT_BACKEND = "ipvs";
  let stage: ConntrackStage;
  const servers = () => stage.node.exec(["ipvsadm", "-Sn"]);
  const guard = () => stage.node.exec(["nft", "list", "table", "ip", "csp-ipvs"]);
  const soon = <T>(check: () => Promise<T> | T) => eventually(check, PATIENCE);
  const hears = (client: Process, word: string) => client.line(new RegExp(`^${word}$`), PATIENCE);
  const connects = async (to = `${VIP}:80`) => {
    const argv = ["curl", "-s", "-m", "5", "-w", "%{http_code} %{time_total}", `http://${to}/`];
    const { code, stdout } = await stage.pod("client").run(argv);
    return code === 7 ? "refused" : (/"name":"([^"]+)"/.exec(stdout)?.[1] ?? `${code} ${stdout}`);
  };

  before(async () => {
    stage = await ConntrackStage.create();
    stage.declare();
    await stage.agent.start();
    await stage.use(["a", "b"]);
  });
  after(() => stage[Symbol.asyncDispose]());

  test("says which switches of the kernel it has set", () => {
    for (const name of ["conntrack", "expire_nodest_conn", "expire_quiescent_template"]) {
      assert.match(stage.agent.log, new RegExp(`"setting":"net.ipv4.vs.${name}","before":"0"`));
    }
  });

  test("an IPv6 VIP is not what the node calls others from", async () => {
    // Where a link has no address of its own the kernel takes one of the node's, and this VIP is the nearest by far.
    const { node } = stage;
    await node.exec(["ip", "link", "add", "unnumbered", "type", "dummy"]);
    await node.exec(["ip", "link", "set", "unnumbered", "up"]);
    await node.exec(["ip", "-6", "route", "add", "fd00:241:0:1::/64", "dev", "unnumbered"]);
    const route = await node.exec(["ip", "-6", "route", "get", "fd00:241:0:1::1"]);
    assert.match(route, / src fd00:/);
    assert.doesNotMatch(route, new RegExp(` src ${VIP6} `));
    await node.exec(["ip", "link", "delete", "unnumbered"]);
  });

  test("new connections follow a failover at once, those that stand stay, and a return cuts nothing", async () => {
    await stage.use(["a"]);
    const stands = await stage.talk("tcp", 80);
    await hears(stands, "a");
    await stage.use(["b"], ["a"]);
    assert.equal(await connects(), "b");
    assert.match(await servers(), new RegExp(`-a -t ${VIP}:80 -r ${PODS.a}:8080 -m -w 0`));
    await stage.use(["a"]);
    assert.equal(await connects(), "a");
    assert.deepEqual(stands.lines, ["talking", "connected", "a"]);
    await stands.stop();
  });

  test("UDP clients that keep their port follow, there and back, IPv6 as well", async () => {
    await stage.use(["a"]);
    const clients = [await stage.talk("udp", 53), await stage.talk("udp", 53, VIP6)];
    for (const pod of ["a", "b", "a"] as const) {
      await stage.use([pod]);
      await soon(() => {
        for (const { lines } of clients) assert.equal(lines.at(-1), pod);
      });
    }
    for (const client of clients) await client.stop();
  });

  test("where an import asks for it, a client of a dead endpoint is reset; of one that is only not ready, it is not", async () => {
    stage.declare(RESET);
    await stage.use(["a"]);
    const client = await stage.talk("tcp", 80);
    await hears(client, "a");
    await stage.use(["b"], ["a"]);
    await stage.use(["b"]);
    await hears(client, "ECONNRESET");
    assert.deepEqual(client.lines, ["talking", "connected", "a", "ECONNRESET"]);
    stage.declare();
  });

  test("without an endpoint it is refused at once, and a connection that stands goes on; so when the import is withdrawn", async () => {
    await stage.use(["a"]);
    const stands = await stage.talk("tcp", 80);
    await hears(stands, "a");
    await stage.use([], ["a"]);
    await soon(async () => assert.equal(await connects(), "refused"));
    stage.withdraw();
    await soon(async () => assert.doesNotMatch(await guard(), /demo\/serve/));
    assert.equal(await connects(), "refused");
    assert.match(await servers(), new RegExp(`-a -t ${VIP}:80 -r ${PODS.a}:8080 -m -w 0`));
    const { stdout } = await stage.node.run(["ipvsadm", "-Lnc"]);
    assert.match(stdout, new RegExp(`ESTABLISHED .*${VIP}:80 .*${PODS.a}:8080`));
    assert.deepEqual(stands.lines, ["talking", "connected", "a"]);
    await stands.stop();
    stage.declare();
    await stage.use(["a", "b"]);
  });

  test("the host's own services and NodePorts are not open on a VIP, and an IPVS server of somebody else is not either", async () => {
    const { node } = stage;
    await stage.use(["a", "b"]);
    const address = node.address("IPv4");
    node.spawn(["socat", "TCP-LISTEN:2222,fork,reuseaddr", "SYSTEM:echo host"]);
    const nodePort = ["-p", "tcp", "--dport", "30080", "-m", "addrtype", "--dst-type", "LOCAL"];
    const to = ["-j", "DNAT", "--to-destination", `${PODS.a}:8080`];
    await node.exec(["iptables", "-t", "nat", "-A", "PREROUTING", ...nodePort, ...to]);
    const server = ["-t", `${VIP}:30081`];
    await node.exec(["ipvsadm", "-A", ...server, "-s", "rr"]);
    await node.exec(["ipvsadm", "-a", ...server, "-r", `${PODS.a}:8080`, "-m"]);
    await soon(async () => assert.equal(await connects(`${address}:30080`), "a"));
    for (const port of [2222, 30080, 30081]) {
      assert.equal(await connects(`${VIP}:${port}`), "refused", String(port));
    }
    assert.match(await connects(), /^[ab]$/);
  });

  test("/plan shows what the kernel counts for each destination", async () => {
    await connects();
    const page = await stage.agent.page("/plan/demo/serve");
    const { counts } = JSON.parse(page) as { counts: readonly Record<string, unknown>[] };
    const own = counts.filter(({ vip, protocol }) => vip === VIP && protocol === "TCP");
    const taking = own
      .filter(({ weight }) => weight === 1)
      .map(({ destination }) => String(destination));
    assert.deepEqual(taking.sort(), [`${PODS.a}:8080`, `${PODS.b}:8080`]);
    assert.ok(own.some(({ total }) => Number(total) > 0));
  });

  test("a restart writes nothing, and leaves the server of somebody else alone", async () => {
    await stage.node.exec(["ipvsadm", "-A", "-t", `${VIP}:30082`, "-s", "rr"]);
    const before = await servers();
    await stage.agent.stop();
    assert.equal(await servers(), before);
    await stage.agent.start();
    assert.equal(await servers(), before);
    assert.equal(await stage.agent.metric(WRITTEN), 0);
    assert.equal(await stage.agent.metric(DELETED), 0);
    assert.match(before, new RegExp(`-A -t ${VIP}:30082 -s rr$`, "m"));
  });

  test("a program of the node that listens on a VIP's own port gets nothing, also while the server is gone", async () => {
    const { node } = stage;
    node.spawn(["socat", "TCP-LISTEN:80,fork,reuseaddr", "SYSTEM:echo host"]);
    await soon(async () => assert.match(await node.exec(["ss", "-ltn"]), /:80 /));
    assert.match(await connects(), /^[ab]$/);
    const server = ["-t", `${VIP}:80`];
    stage.agent.signal("SIGSTOP");
    await node.exec(["ipvsadm", "-D", ...server]);
    assert.equal(await connects(), "refused");
    const { code } = await node.run(["curl", "-s", "-m", "5", `http://${VIP}/`]);
    assert.equal(code, 7, "and from the node itself");
    stage.agent.signal("SIGCONT");
    await soon(async () => assert.match(await connects(), /^[ab]$/));
  });

  test("a switch that was turned off, a weight taken away, a destination added: put right, and told", async () => {
    // The next look is a few seconds after a start or a repair; here, where looks are slow, others are long in coming.
    const setting = "net.ipv4.vs.conntrack";
    const server = ["-t", `${VIP}:80`];
    await stage.node.exec(["ipvsadm", "-e", ...server, "-r", `${PODS.b}:8080`, "-m", "-w", "0"]);
    await stage.node.exec(["ipvsadm", "-a", ...server, "-r", "198.18.0.9:9", "-m", "-w", "3"]);
    await stage.node.exec(["sysctl", "-w", `${setting}=0`]);
    await soon(async () => {
      assert.match(await servers(), new RegExp(`-r ${PODS.b}:8080 -m -w 1`));
      assert.doesNotMatch(await servers(), /-r 198\.18\.0\.9:9 -m -w [1-9]/);
      assert.equal(await stage.node.exec(["sysctl", "-n", setting]), "1\n");
    });
    const metrics = await stage.agent.page("/metrics");
    for (const reason of ["server-changed", "setting-changed"]) {
      assert.match(metrics, new RegExp(`drift_repairs_total\\{.*reason="${reason}".*\\} 1`));
    }
  });

  for (const [what, reason, harm, there] of [
    ["servers that were flushed", "server-missing", "ipvsadm -C", `ipvsadm -Ln -t ${VIP}:80`],
    // Before the guard: a guard that is gone is written anew with it, and nothing more is told.
    [
      ...["ARP's table that was deleted", "guard-changed"],
      ...["nft delete table arp csp-ipvs", "nft list table arp csp-ipvs"],
    ],
    [
      ...["a table that was deleted", "guard-missing"],
      ...["nft delete table ip csp-ipvs", "nft list table ip csp-ipvs"],
    ],
    [
      ...["a device that was deleted", "vip-missing"],
      ...["ip link delete csp-ipvs0", "ip address show csp-ipvs0"],
    ],
  ] as const) {
    test(`${what}: made again, and told`, async () => {
      await stage.node.exec(harm.split(" "));
      await soon(() => assert.match(stage.agent.log, new RegExp(`"reason":"${reason}"`)));
      // Or the next one's harm is mended by this repair, and never told.
      await soon(() => stage.node.exec(there.split(" ")));
      await soon(async () => assert.match(await connects(), /^[ab]$/));
    });
  }

  test("a server of somebody else at an import's VIP and port stays, the other ports are served, and what mends it is said", async () => {
    const theirs = ["-t", `${VIP}:80`];
    await stage.agent.stop();
    await stage.node.exec(["ipvsadm", "-D", ...theirs]);
    await stage.node.exec(["nft", "delete", "table", "ip", "csp-ipvs"]);
    await stage.node.exec(["ipvsadm", "-A", ...theirs, "-s", "lc"]);
    await stage.node.exec(["ipvsadm", "-a", ...theirs, "-r", "198.18.0.9:9", "-m"]);
    await stage.agent.start();
    assert.match(stage.agent.log, new RegExp(`"CSP_PLACE_TAKEN".*ipvsadm -D -t ${VIP}:80`));
    const { setAside } = JSON.parse(await stage.agent.page("/plan/demo/serve"));
    const aside = { servicePort: "demo/serve:http", protocol: "TCP", family: "IPv4" };
    assert.deepEqual(setAside, [{ ...aside, reason: "server-foreign" }]);
    assert.equal(await connects(), "refused");
    assert.match(
      await servers(),
      new RegExp(`-A -t ${VIP}:80 -s lc\n-a -t ${VIP}:80 -r 198.18.0.9:9`),
    );
    assert.match(await servers(), new RegExp(`-A -u ${VIP}:53 .*flag-3`));
    await stage.node.exec(["ipvsadm", "-D", ...theirs]);
    await soon(async () => assert.match(await connects(), /^[ab]$/));
  });

  test("cleanup leaves nothing of ours, also where somebody has deleted device and tables, and what is others'", async () => {
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
