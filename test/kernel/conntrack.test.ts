import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BACKENDS } from "../backends.ts";
import { ConntrackStage, PODS, programOf, VIP6 } from "../conntrack/stage.ts";
import { withoutNative } from "../conntrack/without-native.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { eventually } from "../stages/agent-process.ts";

const EXPLICIT = "198.51.100.7";
const EXPLICIT6 = "2001:db8::7";
const RESET = { "clusterset-proxy.io/on-endpoint-death": "reset" };

for (const way of ["netlink", "conntrack"] as const) {
  describe(`connection tracking by ${way}`, () => {
    const options = { program: way === "conntrack" ? withoutNative : undefined };

    test("a UDP client that keeps its port follows failover and failback; foreign entries stay", async () => {
      await using stage = await ConntrackStage.start({}, options);
      const dnat = ["-d", "10.96.0.10", "-p", "udp", "-j", "DNAT", "--to-destination", PODS.b];
      await stage.node.exec(["iptables", "-t", "nat", "-A", "PREROUTING", ...dnat]);
      await stage.use(["a"]);
      const [direct, foreign] = [
        await stage.startClient("udp", 8080, PODS.a),
        await stage.startClient("udp", 8080, "10.96.0.10"),
      ];
      await Promise.all([direct.line(/^a$/), foreign.line(/^b$/)]);
      const others = async () =>
        [...(await stage.entries(PODS.a)), ...(await stage.entries("10.96.0.10"))].map(
          ({ id }) => id,
        );
      const before = await others();
      assert.equal(before.length, 2);

      const clients = [
        await stage.startClient("udp", 53),
        await stage.startClient("udp", 53, VIP6),
      ];
      const all = (pod: RegExp) => Promise.all(clients.map((client) => client.line(pod)));
      await all(/^a$/);
      await stage.use(["b"]);
      await all(/^b$/);
      await stage.use(["a"]);
      await eventually(() => {
        for (const { lines } of clients) assert.deepEqual(lines, ["started", "a", "b", "a"]);
      });
      assert.deepEqual(await others(), before);
      const name = "clusterset_agent_conntrack_deleted_entries_total";
      const metrics = await stage.agent.page("/metrics");
      for (const family of ["IPv4", "IPv6"]) {
        const line = `${name}{family="${family}",protocol="UDP",reason="endpoint-left"} 2`;
        assert.ok(metrics.includes(line), line);
      }
      const warnings = stage.agent.log
        .split("\n")
        .filter((line) => /"CSP_NETLINK_UNAVAILABLE".*Conntrack cleanup/.test(line));
      assert.equal(warnings.length, way === "netlink" ? 0 : 2, "once for each family");
    });

    test("entries recorded before the VIP was programmed do not affect later connections", async () => {
      // Between the guard and the walk a try is refused: a moment, which a busy machine may make long enough for one.
      for (let i = 0; (await triedBefore()) === "ECONNREFUSED"; i++) assert.notEqual(i, 2);
    });

    /** Talks first, and has the VIP after that; gives the first word of a connect that was under way. */
    async function triedBefore(): Promise<string> {
      await using stage = await ConntrackStage.create(options);
      const [udp, tcp] = [await stage.startClient("udp", 53), await stage.startClient("tcp", 80)];
      await eventually(async () => {
        const texts = (await stage.entries()).map(({ text }) => text);
        assert.equal(texts.length, 2);
        for (const text of texts) assert.match(text, /\[UNREPLIED\] src=241\.0\.0\.10 /);
        assert.ok(texts.some((text) => text.includes("SYN_SENT")));
      });
      stage.writeImport();
      stage.writeSlices(["a"]);
      await stage.agent.start();
      const [, said] = await Promise.all([
        udp.line(/^a$/, 15_000),
        tcp.line(/^(a|ECONNREFUSED)$/, 15_000),
      ]);
      return said;
    }

    for (const left of [["b"], []] as const) {
      const others = left.length === 0 ? "no endpoint" : "another endpoint";
      test(`with the annotation, a TCP client of a dead endpoint is reset, with ${others} left`, async () => {
        await using stage = await ConntrackStage.start(RESET, options);
        await stage.use(["a"]);
        const client = await stage.startClient("tcp", 80);
        await client.line(/^a$/);
        await stage.kill("a");
        await stage.use(left);
        await client.line(/^ECONNRESET$/);
      });
    }
  });
}

test("a UDP client keeps its endpoint on failback while that is ready, and moves once it is not", async () => {
  await using stage = await ConntrackStage.start();
  await stage.use([], ["a"], ["b"]);
  const client = await stage.startClient("udp", 53);
  await client.line(/^b$/);
  await stage.use(["a"], [], ["b"]);
  const newer = await stage.startClient("udp", 53);
  await newer.line(/^a$/);
  assert.deepEqual(client.lines, ["started", "b"]);
  await stage.use(["a"], ["b"]);
  await client.line(/^a$/);
  assert.deepEqual(newer.lines, ["started", "a"]);
});

test("with udp: follow, a UDP client moves on failback", async () => {
  await using stage = await ConntrackStage.start({ "clusterset-proxy.io/udp": "follow" });
  await stage.use([], ["a"], ["b"]);
  const client = await stage.startClient("udp", 53);
  await client.line(/^b$/);
  await stage.use(["a"], [], ["b"]);
  await client.line(/^a$/);
});

test("with the annotation, a connection to an unready endpoint is kept", async () => {
  await using stage = await ConntrackStage.start(RESET);
  await stage.use(["a"]);
  const [tcp, udp] = [await stage.startClient("tcp", 80), await stage.startClient("udp", 53)];
  await Promise.all([tcp.line(/^a$/), udp.line(/^a$/)]);
  await stage.use(["b"], ["a"]);
  // The sweep that moves the UDP client sees the TCP entry, too.
  await udp.line(/^b$/);
  const before = await stage.sweeps();
  await stage.use([], ["a"]);
  await eventually(async () => assert.ok((await stage.sweeps()) > before));
  assert.deepEqual(tcp.lines, ["started", "connected", "a"]);
  assert.match(await states(stage), /^ESTABLISHED$/);
});

test("without the annotation, a connection is kept when its endpoint and the import are deleted", async () => {
  await using stage = await ConntrackStage.start();
  await stage.use(["a"]);
  const [tcp, udp] = [await stage.startClient("tcp", 80), await stage.startClient("udp", 53)];
  await Promise.all([tcp.line(/^a$/), udp.line(/^a$/)]);
  await stage.use(["b"]);
  await udp.line(/^b$/);
  await stage.use([]);
  stage.removeImport();
  // In one cleanup, or in one for each change; an endpoint has left before.
  const gone = /protocol="UDP",reason="(vip-gone"\} 1|endpoint-left"\} 2)/;
  await eventually(async () => assert.match(await stage.agent.page("/metrics"), gone));
  assert.deepEqual(tcp.lines, ["started", "connected", "a"]);
  assert.match(await states(stage), /^ESTABLISHED$/);
});

test("a restart keeps correct entries and deletes those that became stale meanwhile", async () => {
  await using stage = await ConntrackStage.start(RESET);
  await stage.use(["a", "b"]);
  const clients = await Promise.all([80, 80, 80, 80].map((port) => stage.startClient("tcp", port)));
  await Promise.all(clients.map((client) => client.line(/^[ab]$/)));
  const udp = await stage.startClient("udp", 53);
  await udp.line(/^[ab]$/);
  const before = (await stage.entries()).map(({ id }) => id).sort();
  assert.equal(before.length, 5);
  await stage.agent.stop();
  await stage.agent.start();
  await stage.sweeps();
  assert.deepEqual((await stage.entries()).map(({ id }) => id).sort(), before);

  await stage.agent.stop();
  stage.writeSlices(["b"]);
  await stage.agent.start();
  await udp.line(/^b$/);
  for (const client of clients) {
    const [, , pod] = client.lines;
    if (pod === "a") await client.line(/^ECONNRESET$/);
    else assert.deepEqual(client.lines, ["started", "connected", "b"]);
  }
});

for (const backend of BACKENDS) {
  test(`UDP entries of an explicit VIP whose import went while the agent was down are deleted at the start, ${backend.title}`, async () => {
    const flags = ["--explicit-vip-cidrs", `${EXPLICIT}/32,${EXPLICIT6}/128`];
    await using stage = await ConntrackStage.create({ backend, flags });
    // Without another import, the loss of all would be confirmed for 30 s first.
    const port = { name: "http", port: 80, protocol: "TCP" };
    const slices = [PODS.a, "fd00:10:1::11"].map((address, i) =>
      sliceObject(`other-${i}`, "demo/other", { cluster: "c1" }, [port], [address]),
    );
    const other = importObject("demo/other", ["241.0.0.11", "fd00:241::11"], [port]);
    stage.manifests.write("other", other, ...slices);
    stage.writeImport({}, [EXPLICIT, EXPLICIT6]);
    await stage.agent.start();
    await stage.use(["a"]);
    const vips = [EXPLICIT, EXPLICIT6];
    for (const vip of vips) await (await stage.startClient("udp", 53, vip)).line(/^a$/);
    await stage.agent.stop();
    stage.removeImport();
    await stage.agent.start();
    await eventually(async () => {
      const entries = await Promise.all(vips.map((vip) => stage.entries(vip)));
      // What the clients send now is recorded without an endpoint.
      const texts = entries.flat().map(({ text }) => text);
      assert.deepEqual(
        texts.filter((text) => text.includes(`src=${PODS.a} `) || text.includes("::11 ")),
        [],
      );
    });
  });
}

test("netlink and the program list and delete the same entries, also for IPv6 and zones", async () => {
  await using stage = await ConntrackStage.create();
  for (const zone of ["-d 10.9.0.2 -j CT --zone 7", "-d 10.9.0.3 -j CT --zone-orig 8"])
    await stage.node.exec(`iptables -t raw -A PREROUTING ${zone}`.split(" "));
  await stage.lab.router.exec(["ip", "route", "add", "blackhole", "10.9.0.0/16"]);
  const send = async () => {
    for (const host of ["10.9.0.1", "10.9.0.2", "10.9.0.3", stage.pod("a").address("IPv6")]) {
      await stage.pod("client").exec(["bash", "-c", `echo who > /dev/udp/${host}/8080`]);
    }
  };
  const say = async (...args: string[]) =>
    (await stage.node.exec(programOf("tables.ts", ...args))).trim().split("\n");
  for (const way of ["netlink", "conntrack"]) {
    await send();
    const [one, other] = [await say("netlink"), await say("conntrack")];
    assert.equal(one.length, 4);
    assert.deepEqual(one.map(settled).sort(), other.map(settled).sort());
    assert.deepEqual(
      (await say(way, "delete")).filter((line) => line.startsWith("deleted")),
      ["deleted 3", "deleted 1"],
    );
    assert.deepEqual(await say("netlink"), [""]);
  }
});

test("50,000 entries of a removed endpoint are deleted, and the agent stays responsive", async () => {
  await using stage = await ConntrackStage.create();
  await stage.fill("UDP", 53, "10.1.0.99");
  stage.writeImport();
  stage.writeSlices(["a"]);
  await stage.agent.start();
  await stage.untilForgotten();
});

/** What a late answer changes, and what the program's listing is not read for. */
const UNSETTLED = ["replied", "assured", "secondsLeft"];

/** An entry as `tables.ts` prints it, without these fields, the others in order. */
function settled(line: string): string {
  const fields = Object.entries(JSON.parse(line)).filter(([name]) => !UNSETTLED.includes(name));
  return fields
    .map((field) => JSON.stringify(field))
    .sort()
    .join();
}

/** TCP states of the entries for the VIP. */
async function states(stage: ConntrackStage): Promise<string> {
  const lines = (await stage.entries()).filter(({ text }) => text.startsWith("tcp"));
  return lines.map(({ text }) => text.split(/\s+/)[3]).join();
}
