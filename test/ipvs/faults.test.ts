import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { ipvs } from "../backends/ipvs.ts";
import { backendTitled } from "../backends.ts";
import { CountedConnections } from "../connections/connections.ts";
import { ConntrackStage, PODS, REJECTED, VIP } from "../conntrack/stage.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { request } from "../lab/programs.ts";
import { AgentProcess, eventually } from "../stages/agent-process.ts";

/** Emulation is slow. */
const PATIENCE = 40_000;
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const ODD = "241.0.0.20";
const MH = { "clusterset-proxy.io/ipvs-scheduler": "mh" };
/** What a node may come from, and go to. */
const OTHERS = ["iptables (nft)", "nftables"].map(backendTitled);
/** A rule of modprobe that prevents loading the scheduler's module. */
const NO_MH = "/etc/modprobe.d/no-mh.conf";

describe("a missing scheduler, and changes of the backend", () => {
  let stage: ConntrackStage;
  const soon = <T>(check: () => Promise<T> | T) => eventually(check, PATIENCE);
  /** Writes another import, with this endpoint. */
  const odd = (pod: "a" | "b", annotations: Readonly<Record<string, string>> = {}) => {
    const target = { ...HTTP, port: 8080 };
    stage.manifests.write(
      "odd",
      {
        ...importObject("shop/odd", [ODD], [HTTP]),
        metadata: { namespace: "shop", name: "odd", annotations },
      },
      sliceObject("odd", "shop/odd", { cluster: "c1" }, [target], [PODS[pod]]),
    );
  };
  before(async () => {
    stage = await ConntrackStage.create();
    stage.writeImport();
    stage.writeSlices(["a"]);
    await stage.agent.start();
    await stage.use(["a"]);
  });
  after(async () => {
    rmSync(NO_MH, { force: true });
    await stage[Symbol.asyncDispose]();
  });

  test("only the service whose scheduler the kernel lacks is quarantined, and served once its import names another", async () => {
    const aside = () => stage.agent.metric("clusterset_agent_set_aside_services");
    writeFileSync(NO_MH, "install ip_vs_mh /bin/false\n");
    await stage.node.run(["rmmod", "ip_vs_mh"]);
    odd("a", MH);
    stage.writeSlices(["b"]);
    await soon(async () => assert.equal(await aside(), 1));
    await soon(async () => assert.equal(await stage.answer(), "b"));
    assert.match(stage.agent.log, /shop\/odd:http.*refused-by-kernel/);
    assert.equal(await stage.answer(ODD), REJECTED);
    odd("a");
    await soon(async () => assert.equal(await stage.answer(ODD), "a"));
    assert.equal(await aside(), 0);
    rmSync(NO_MH);
    stage.manifests.remove("odd");
  });

  /** Connects continuously. Returns a function that ends that after another connect, and throws if any connect failed. */
  const connecting = async () => {
    const counted = new CountedConnections({ seconds: 300, rate: 10, inFlight: 2, timeout: 5_000 });
    counted.add(stage.pod("client"), VIP);
    await soon(() => assert.ok(counted.answered > 0));
    return async () => {
      const { answered } = counted;
      await soon(() => assert.ok(counted.answered > answered));
      await counted.assertNoneFailed(1);
    };
  };

  /** Opens a connection. Returns a function that closes it, and throws if it has ended or nothing more arrives. */
  const holding = async () => {
    const client = stage.pod("client").spawn(request("--hold", `http://${VIP}`));
    await client.line(/name/, PATIENCE);
    return async () => {
      const before = client.lines.length;
      await soon(() => assert.ok(client.lines.length > before + 10));
      assert.doesNotMatch(client.lines.join("\n"), /error/);
      await client.stop();
    };
  };

  for (const backend of OTHERS) {
    const { title, flags, complete } = backend;
    const other = () =>
      new AgentProcess(stage.node, stage.manifests.path, [
        ...["--cluster-id", "c1", "--clusterset-cidr", "241.0.0.0/8,fd00:241::/108", ...flags],
      ]);
    let second: AgentProcess;
    const rules = async () => (await backend.own(stage.node)).join("\n");

    test(`during a change from IPVS to ${title} no new connection fails, and all IPVS objects are removed`, async () => {
      await stage.use(["a", "b"]);
      const allAnswered = await connecting();
      await stage.agent.stop();
      second = other();
      await second.start();
      await soon(async () => assert.match(await rules(), complete));
      await soon(async () => assert.deepEqual(await ipvs.own(stage.node), []));
      assert.equal((await stage.node.exec(["ipvsadm", "-Sn"])).trim(), "", "nor what drained");
      await allAnswered();
    });

    test(`during a change from ${title} to IPVS no connection fails or ends, and all of ${title} is removed`, async () => {
      const allAnswered = await connecting();
      const goesOn = await holding();
      await second.stop();
      await stage.agent.start();
      await soon(async () => assert.match((await ipvs.own(stage.node)).join("\n"), ipvs.complete));
      await soon(async () => assert.equal(await rules(), ""));
      await allAnswered();
      await goesOn();
    });
  }
});
