import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { parse } from "yaml";
import { isRight, SETTINGS } from "../../agent/backends/ipvs/settings.ts";
import { ConntrackStage, VIP } from "../conntrack/stage.ts";
import type { Process } from "../lab/process.ts";
import { AGENT, AgentProcess, eventually } from "../stages/agent-process.ts";

const DEPLOY = join(import.meta.dirname, "../../deploy");

/** What matters here of a DaemonSet, or of a patch for one. */
interface DaemonSet {
  readonly spec: { readonly template: { readonly spec: PodSpec } };
}

interface PodSpec {
  readonly containers: readonly [
    {
      readonly env?: readonly { readonly name: string; readonly value?: string }[];
      readonly securityContext?: { readonly capabilities?: { readonly add?: readonly string[] } };
      readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
    },
  ];
  readonly volumes?: readonly {
    readonly name: string;
    readonly hostPath: { readonly path: string };
  }[];
}

/** What the agent's container may do on a node, as deploy/ has it. */
export interface PodRights {
  /** Capabilities, as `setpriv` spells them. */
  readonly capabilities: readonly string[];
  /** What the component `ipvs` sets. */
  readonly env: Readonly<Record<string, string>>;
  /** Host path and path in the container, of what the component adds. */
  readonly mounts: readonly (readonly [string, string])[];
}

/** The rights of the pod that `deploy/base` and `deploy/components/ipvs` make. */
export function podRights(): PodRights {
  const [base, component] = [podOf("base/agent.yaml"), podOf("components/ipvs/agent.yaml")];
  const [{ securityContext }] = base.containers;
  const [{ env = [], volumeMounts = [] }] = component.containers;
  return {
    capabilities: (securityContext?.capabilities?.add ?? []).map((name) => name.toLowerCase()),
    env: Object.fromEntries(env.map(({ name, value = "" }) => [name, value])),
    mounts: volumeMounts.map(({ name, mountPath }) => {
      const volume = component.volumes?.find((one) => one.name === name);
      if (volume === undefined) throw new Error(`no volume ${name}`);
      return [volume.hostPath.path, mountPath];
    }),
  };
}

function podOf(file: string): PodSpec {
  const daemonSet = parse(readFileSync(join(DEPLOY, file), "utf8")) as DaemonSet;
  return daemonSet.spec.template.spec;
}

/** The agent's command line in what is such a container to it: these capabilities, and a /proc/sys that cannot be written. */
export function inPod({ capabilities, mounts }: PodRights): string[] {
  const script = [
    "set -eu",
    ...mounts.flatMap(([from, to]) => [`mkdir -p ${to}`, `mount --bind ${from} ${to}`]),
    "mount --bind /proc/sys /proc/sys",
    "mount -o remount,bind,ro /proc/sys",
    `exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all,${capabilities.map((name) => `+${name}`).join()} "$@"`,
  ];
  return ["unshare", "--mount", "sh", "-c", script.join("\n"), "pod", AGENT];
}

const RIGHTS = podRights();
/** The same without the host's `/proc/sys/net`. */
const WITHOUT = { ...RIGHTS, mounts: [] };
/** Emulation is slow. */
const PATIENCE = 60_000;
/** What keeps modprobe from the module of a scheduler. */
const NO_MH = "/etc/modprobe.d/no-mh.conf";

/** What the DaemonSet and the component `ipvs` leave the agent is enough for it: NET_ADMIN, and one folder of the host's. */
describe("the agent with the rights of its pod", () => {
  let stage: ConntrackStage;
  let established: Process;
  const agentWith = (rights: typeof RIGHTS) => {
    const env = Object.entries(rights.env).map(([name, value]) => `${name}=${value}`);
    const flags = ["--cluster-id", "c1", "--region", "eu-west"];
    const program = ["env", ...env, ...inPod(rights)];
    return new AgentProcess(stage.node, `${stage.lab.directory}/manifests`, flags, program);
  };
  /** The switches that are not as they should be. One process for all of them: each costs its tenth of a second here. */
  const wrong = async () => {
    const names = SETTINGS.map(({ name }) => name);
    const lines = (await stage.node.exec(["sysctl", "-e", ...names])).trim().split("\n");
    const values = new Map(lines.map((line) => line.split(" = ") as [string, string]));
    return SETTINGS.filter((one) => !isRight(one, values.get(one.name)));
  };
  const answers = async () => assert.equal(await stage.answer(), "a");

  /** Number of lines from the server that its clients have received. */
  const heard = async () => {
    const said = await stage.pod("a").exec(["ss", "-tinH", "state", "established"]);
    return Math.max(
      0,
      ...[...said.matchAll(/bytes_acked:(\d+)/g)].map(([, bytes]) => Number(bytes)),
    );
  };

  before(async () => {
    stage = await ConntrackStage.create();
    // Files before this one have had them loaded; they are in use until the last namespace of theirs is gone.
    const loaded = modules().filter((name) => /^(ip_vs|dummy)/.test(name));
    if (loaded.length > 0)
      await eventually(() => stage.node.exec(["modprobe", "-r", ...loaded]), PATIENCE);
    stage.writeImport({ "clusterset-proxy.io/ipvs-scheduler": "lc" });
    stage.writeSlices(["a"]);
  });
  after(async () => {
    rmSync(NO_MH, { force: true });
    await stage[Symbol.asyncDispose]();
  });

  test("with iptables the kernel does not load IPVS, not even for the check for leftovers", async () => {
    const agent = agentWith({ ...WITHOUT, env: { CLUSTERSET_AGENT_BACKEND: "iptables" } });
    await agent.start();
    await eventually(answers, PATIENCE);
    await agent.stop();
    assert.deepEqual(
      modules().filter((name) => /^(ip_vs|dummy)/.test(name)),
      [],
    );
  });

  test("without writable sysctls and a scheduler, iptables is used: the log has the reason, /readyz and metrics the backend", async () => {
    writeFileSync(NO_MH, "install ip_vs_mh /bin/false\n");
    const env = { ...WITHOUT.env, CLUSTERSET_AGENT_IPVS_SCHEDULER: "mh" };
    const agent = agentWith({ ...WITHOUT, env });
    await agent.start();
    assert.match(
      agent.log,
      /ipvs-unusable.*IPv4: the kernel has no scheduler mh: .*modprobe ip_vs_mh/,
    );
    const [line = ""] = agent.log.split("\n").filter((one) => one.includes("ipvs-unusable"));
    const remark = /^\[\?\]backend-iptables ipvs-unusable: (.*)$/m.exec(
      await agent.page("/readyz?verbose"),
    )?.[1];
    const toSet = await wrong();
    assert.ok(toSet.length > 2, "this node had them right already");
    for (const { name, value } of toSet) {
      for (const said of [line, remark ?? ""])
        assert.match(
          said,
          new RegExp(`${name} cannot be set: /proc/sys is read-only; it must be ${value},`),
        );
    }
    assert.match(
      await agent.page("/metrics"),
      /^clusterset_agent_build_info\{.*backend="iptables"/m,
    );
    await eventually(answers, PATIENCE);
    established = await stage.startClient("tcp", 80);
    await established.line(/^a$/, PATIENCE);
    await agent.stop();
  });

  test("with the host's /proc/sys/net, IPVS is used: sysctls are set, and the kernel has loaded its modules", async () => {
    const agent = agentWith(RIGHTS);
    await agent.start();
    assert.match(await agent.page("/readyz?verbose"), /^\[\+\]backend-ipvs ok$/m);
    assert.deepEqual(await wrong(), []);
    await eventually(answers, PATIENCE);
    await eventually(() => assert.match(agent.log, /"flavour":"nft".*Removed leftover/), PATIENCE);
    assert.match(await stage.node.exec(["ipvsadm", "-Sn"]), new RegExp(`-A -t ${VIP}:80 -s lc `));
    for (const name of ["ip_vs", "ip_vs_lc", "dummy"]) assert.ok(modules().includes(name), name);
    const status = readFileSync(`/proc/${agent.pid}/status`, "utf8");
    // CAP_NET_ADMIN is number 12 (linux/capability.h).
    assert.match(status, /^CapEff:\t0*1000$/m);
    assert.match(status, /^CapBnd:\t0*1000$/m);
    await agent.stop();
  });

  test("IPVS keeps a connection that iptables had established, and removes all iptables rules", async () => {
    assert.doesNotMatch(await stage.node.exec(["iptables-save"]), /CSP-/);
    const before = await heard();
    await eventually(async () => assert.ok((await heard()) > before), PATIENCE);
    assert.deepEqual(established.lines, ["started", "connected", "a"]);
    await established.stop();
  });
});

function modules(): string[] {
  return readFileSync("/proc/modules", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[0] ?? "");
}
