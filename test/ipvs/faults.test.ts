import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ConntrackStage, PODS, VIP } from "../conntrack/stage.ts";
import { request } from "../lab/programs.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../support/agent-process.ts";
import { assertMassLoss } from "../support/mass-loss.ts";
import { importObject, sliceObject } from "../support/objects.ts";
import { FaultyNft } from "./faulty-nft.ts";

/** Emulation is slow. */
const PATIENCE = 40_000;
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const ODD = "241.0.0.20";
const MH = { "clusterset-proxy.io/ipvs-scheduler": "mh" };
/** What keeps modprobe from the module of a scheduler. */
const NO_MH = "/etc/modprobe.d/no-mh.conf";
const WRITTEN = "clusterset_agent_kernel_objects_written_total";
const DELETED = "clusterset_agent_kernel_objects_deleted_total";

describe("what may happen to an agent with IPVS", () => {
  process.env.CLUSTERSET_AGENT_BACKEND = "ipvs";
  let stage: ConntrackStage;
  let nft: FaultyNft;
  let manifests: ManifestDirectory;
  let iptables: AgentProcess;
  const soon = <T>(check: () => Promise<T> | T) => eventually(check, PATIENCE);
  const logged = (pattern: RegExp) => soon(() => assert.match(stage.agent.log, pattern));
  const connects = async (vip = VIP) => {
    const argv = ["curl", "-s", "-m", "5", `http://${vip}/`];
    const { code, stdout } = await stage.pod("client").run(argv);
    return /"name":"([^"]+)"/.exec(stdout)?.[1] ?? `curl says ${code}`;
  };
  const servers = () => stage.node.exec(["ipvsadm", "-Sn"]);
  /** Writes another import, with this endpoint. */
  const odd = (pod: "a" | "b", annotations: Readonly<Record<string, string>> = {}) => {
    const target = { ...HTTP, port: 8080 };
    manifests.write(
      "odd",
      {
        ...importObject("shop/odd", [ODD], [HTTP]),
        metadata: { namespace: "shop", name: "odd", annotations },
      },
      sliceObject("odd", "shop/odd", { cluster: "c1" }, [target], [PODS[pod]]),
    );
  };
  const kernel = async () => {
    const table = await stage.node.exec(["nft", "list", "table", "ip", "csp-ipvs"]);
    const device = await stage.node.exec(["ip", "-o", "address", "show", "csp-ipvs0"]);
    return `${await servers()}${table}${device}`;
  };

  /** Takes 30 seconds, most of which it waits: it does so beside the other tests. */
  let massLoss: Promise<void>;
  before(async () => {
    massLoss = assertMassLoss([]);
    massLoss.catch(() => undefined);
    stage = await ConntrackStage.create(async (lab) => {
      nft = new FaultyNft(lab);
      return nft.program;
    });
    manifests = new ManifestDirectory(stage.lab, "manifests");
    iptables = new AgentProcess(stage.node, manifests.path, [
      ...["--cluster-id", "c1", "--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"],
      ...["--backend", "iptables"],
    ]);
    stage.declare();
    stage.place(["a"]);
    await stage.agent.start();
    await stage.use(["a"]);
  });
  after(async () => {
    rmSync(NO_MH, { force: true });
    await stage[Symbol.asyncDispose]();
  });

  // What takes no endpoint away and gives none takes no nft: these write and withdraw another import.
  test("an nft that fails: what is live stays, and what has changed is live once it fails no more", async () => {
    nft.fail(3);
    odd("a");
    await logged(/CSP_EXEC_FAILED/);
    assert.equal(await connects(), "a");
    await soon(async () => assert.equal(await connects(ODD), "a"));
    await logged(/The kernel is in step again/);
    manifests.remove("odd");
    await soon(async () => assert.equal(await connects(ODD), "curl says 7"));
  });

  test("killed in the middle of a change, it leaves what answers; the next agent completes it", async () => {
    nft.wait();
    odd("b");
    await nft.reached();
    assert.match(await servers(), new RegExp(`-a -t ${ODD}:80 -r ${PODS.b}:8080 -m -w 1`));
    assert.equal(await connects(ODD), "curl says 7", "the guard opens last");
    await stage.agent.kill();
    assert.equal(await connects(), "a");
    nft.heal();
    await stage.agent.start();
    assert.equal(await connects(ODD), "b");
    assert.equal(await connects(), "a");
  });

  test("told to end in the middle of a change, it makes the change first, and the next has nothing to do", async () => {
    nft.wait();
    manifests.remove("odd");
    await nft.reached();
    stage.agent.signal("SIGTERM");
    await logged(/"msg":"Stopping/);
    assert.equal(await connects(ODD), "b");
    nft.heal();
    assert.deepEqual(await stage.agent.exited, { code: 0, signal: null }, stage.agent.log);
    assert.equal(await connects(ODD), "curl says 7");
    assert.doesNotMatch(await servers(), new RegExp(`${ODD}:.* -w 1`));
    const before = await kernel();
    await stage.agent.start();
    assert.equal(await stage.agent.metric(WRITTEN), 0);
    assert.equal(await stage.agent.metric(DELETED), 0);
    assert.equal(await kernel(), before);
  });

  test("told to end while a look at its rules hangs, it does", async () => {
    nft.hang();
    await nft.reached();
    assert.deepEqual(await stage.agent.stop(), { code: 0, signal: null }, stage.agent.log);
    nft.heal();
    await stage.agent.start();
  });

  test("stopped for a while and let go on, it takes up what changed, and nothing else", async () => {
    const written = await stage.agent.metric(WRITTEN);
    const lines = stage.agent.log;
    stage.agent.signal("SIGSTOP");
    stage.place(["b"]);
    await sleep(6_000);
    assert.equal(await connects(), "a");
    stage.agent.signal("SIGCONT");
    await stage.use(["b"]);
    assert.equal(await connects(), "b");
    assert.ok((await stage.agent.metric(WRITTEN)) > written);
    assert.equal(stage.agent.log, lines);
    assert.doesNotMatch(await stage.agent.page("/metrics"), /_drift_repairs_total\{/);
  });

  test("a service whose scheduler the kernel has not is set aside alone, and served once its import names another", async () => {
    const aside = () => stage.agent.metric("clusterset_agent_set_aside_services");
    writeFileSync(NO_MH, "install ip_vs_mh /bin/false\n");
    await stage.node.run(["rmmod", "ip_vs_mh"]);
    odd("a", MH);
    stage.place(["b"]);
    await soon(async () => assert.equal(await aside(), 1));
    await soon(async () => assert.equal(await connects(), "b"));
    assert.match(stage.agent.log, /shop\/odd:http.*refused-by-kernel/);
    assert.equal(await connects(ODD), "curl says 7");
    odd("a");
    await soon(async () => assert.equal(await connects(ODD), "a"));
    assert.equal(await aside(), 0);
    rmSync(NO_MH);
    manifests.remove("odd");
  });

  test("a restart with the wrong directory takes nothing away for 30 seconds, holds up nothing that is wanted, and is then believed", () =>
    massLoss);

  /** A client that connects all the time; gives what ends it, once it has connected again, and throws if a connect has failed. */
  const connecting = async () => {
    const flags = ["--for", "300", "--rate", "10", "--in-flight", "2", "--every", "500"];
    const argv = request(...flags, "--timeout", "5000", `tcp://${VIP}:80`);
    const client = stage.pod("client").spawn(argv);
    await soon(() => assert.ok(client.lines.length > 0));
    return async () => {
      const lines = client.lines.length;
      await soon(() => assert.ok(client.lines.length > lines + 1));
      client.signal("SIGTERM");
      await client.exited;
      const { total, answered, errors } = JSON.parse(client.lines.at(-1) ?? "{}");
      assert.deepEqual({ answered, errors }, { answered: total, errors: {} });
    };
  };

  test("from IPVS to iptables, no new connection fails, and nothing of IPVS is left", async () => {
    await stage.use(["a", "b"]);
    const allAnswered = await connecting();
    await stage.agent.stop();
    await iptables.start();
    await soon(async () => assert.equal((await servers()).trim(), ""));
    await allAnswered();
  });

  test("and back, none fails either, and nothing of iptables is left", async () => {
    const allAnswered = await connecting();
    await iptables.stop();
    await stage.agent.start();
    await soon(async () => assert.doesNotMatch(await stage.node.exec(["iptables-save"]), /CSP-/));
    await soon(async () =>
      assert.match(await stage.node.exec(["nft", "list", "table", "ip", "csp-ipvs"]), /"bind-/),
    );
    await allAnswered();
  });
});
