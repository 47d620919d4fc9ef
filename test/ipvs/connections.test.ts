import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ConntrackStage, PODS, type Pod, VIP, VIP6 } from "../conntrack/stage.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { eventually } from "../stages/agent-process.ts";

/** More VIPs of the same import. */
const OTHERS = ["241.0.0.11", "fd00:241::11"] as const;
/** An import of SCTP. */
const ASSOCIATIONS = { key: "demo/associations", vip: "241.0.0.12" } as const;
const SCTP = { name: "sctp", port: 132, protocol: "SCTP" };
const TARGET = { ...SCTP, port: 8132 };
/** Emulation is slow. */
const PATIENCE = 60_000;

/** A client from PORT to HOST 80: asks for a name when it is connected, and once more at each SIGHUP; prints what comes. */
const CLIENT = `
const [host, port] = process.argv.slice(1);
const socket = require("node:net").connect({ host, port: 80, localPort: Number(port) });
const ask = () => socket.write("GET / HTTP/1.1\\r\\nHost: demo\\r\\n\\r\\n");
socket.on("connect", ask);
process.on("SIGHUP", ask);
socket.on("data", (text) => console.log(/"name":"([^"]+)"/.exec(text)[1]));
socket.on("error", ({ code }) => console.log(code));
`;

describe("established connections, with IPVS", () => {
  let stage: ConntrackStage;
  const connect = async (from: Namespace, to: string, port: number) => {
    const client = from.spawn([process.execPath, "-e", CLIENT, to, String(port)]);
    await client.line(/^a$/, PATIENCE);
    return client;
  };
  const asks = async (client: Process, ...heard: readonly string[]) => {
    client.signal("SIGHUP");
    await eventually(() => assert.deepEqual(client.lines, heard), PATIENCE);
  };

  before(async () => {
    stage = await ConntrackStage.create({ flags: ["--ipvs-tcp-timeout", "7200s"] });
    stage.writeImport({}, [VIP, VIP6, ...OTHERS]);
    await stage.agent.start();
    await stage.use(["a"]);
  });
  after(() => stage[Symbol.asyncDispose]());

  for (const [one, other] of [
    [VIP, OTHERS[0]],
    [VIP6, OTHERS[1]],
  ] as const) {
    test(`connections from one port to ${one} and ${other}, and to the same endpoint: neither hangs`, async () => {
      const older = await connect(stage.pod("client"), one, 40_000);
      const newer = await connect(stage.pod("client"), other, 40_000);
      await asks(older, "a", "a");
      await asks(newer, "a", "a");
      await older.stop();
      await newer.stop();
    });
  }

  test("an SCTP association stays while its endpoint drains, new ones go elsewhere, and failback ends none", async () => {
    const { key, vip } = ASSOCIATIONS;
    const listen = "SCTP4-LISTEN:8132,fork,reuseaddr";
    for (const pod of ["a", "b"] as const)
      stage.pod(pod).spawn(["socat", listen, `SYSTEM:while echo ${pod}; do sleep 0.5; done`]);
    const use = async (pod: Pod) => {
      const slice = sliceObject("associations", key, { cluster: "c1" }, [TARGET], [PODS[pod]]);
      stage.manifests.write("associations", importObject(key, [vip], [SCTP]), slice);
      await eventually(async () => {
        const servers = await stage.node.exec(["ipvsadm", "-Sn"]);
        const taking = [...servers.matchAll(/--sctp-service \S+:132 -r (\S+):8132 -m -w 1/g)];
        assert.deepEqual(
          taking.map(([, address]) => address),
          [PODS[pod]],
        );
      }, PATIENCE);
    };
    const associate = async (pod: Pod) => {
      await use(pod);
      const argv = ["socat", "-u", `SCTP4-CONNECT:${vip}:132,ip-recverr=1`, "-"];
      const client = stage.pod("client").spawn(argv);
      await client.line(new RegExp(`^${pod}$`), PATIENCE);
      return client;
    };
    const clients = [await associate("a"), await associate("b"), await associate("a")];
    for (const client of clients) {
      const heard = client.lines.length;
      await eventually(() => assert.ok(client.lines.length > heard), PATIENCE);
      assert.equal(new Set(client.lines).size, 1);
      await client.stop();
    }
  });

  test("a connection without a conntrack entry continues", async () => {
    const client = await connect(stage.pod("client"), VIP, 41_000);
    await stage.node.exec(["conntrack", "-D", "-p", "tcp", "--orig-dst", VIP, "--sport", "41000"]);
    await asks(client, "a", "a");
    await client.stop();
  });

  test("IPVS has the configured timeout, and a connection that timed out is reset at its next packet", async () => {
    const timeouts = () => stage.node.exec(["ipvsadm", "-l", "--timeout"]);
    assert.match(await timeouts(), /: 7200 120 300/);
    assert.match(stage.agent.log, /"before":"900s","after":"7200s"/);
    await stage.node.exec(["ipvsadm", "--set", "2", "0", "0"]);
    const clients = [
      await connect(stage.pod("client"), VIP, 42_000),
      await connect(stage.node, VIP, 42_000),
    ];
    await eventually(async () => {
      const connections = await stage.node.exec(["cat", "/proc/net/ip_vs_conn"]);
      assert.doesNotMatch(connections, / A410 F100000A 0050 /);
    }, PATIENCE);
    for (const client of clients) await asks(client, "a", "ECONNRESET");
  });
});
