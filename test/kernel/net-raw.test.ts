import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { service } from "../backends/service.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { AGENT, AgentProcess, eventually, ManifestDirectory } from "../stages/agent-process.ts";

// The agent with the capabilities that deploy/base gives it, and with those of deploy/components/net-raw.

const FLAGS = ["--cluster-id", "c1"];
/** A rule of another program. */
const OTHER = ["-A", "INPUT", "-p", "tcp", "--dport", "9", "-j", "DROP"];
/** The same, as it is listed. */
const OTHER_SAVED = "-A INPUT -p tcp -m tcp --dport 9 -j DROP";

let lab: Lab;
let node: Namespace;
let manifests: ManifestDirectory;
let agent: AgentProcess | undefined;

before(async () => {
  // Legacy tables cannot be deleted, so that each test needs a node of its own.
  const nodes = ["n1", "n2", "n3", "n4"].map((name) => ({ name, pods: {} }));
  lab = await Lab.create({ clusters: [{ id: "c1", nodes }] });
  manifests = new ManifestDirectory(lab, "manifests");
  manifests.write("web", ...service("shop/web", ["241.0.1.7"], ["10.1.0.11"]));
});
afterEach(() => agent?.kill());
after(() => lab?.remove());

function agentWith(capabilities: string, ...flags: readonly string[]): AgentProcess {
  const rights = ["--no-new-privs", "--inh-caps=-all", `--bounding-set=-all,${capabilities}`];
  const program = ["setpriv", ...rights, AGENT];
  agent = new AgentProcess(node, manifests.path, [...FLAGS, ...flags], program);
  return agent;
}
const plain = (...flags: readonly string[]) => agentWith("+net_admin", ...flags);
const withRaw = () => agentWith("+net_admin,+net_raw");

/** Waits until the agent has logged that it may not read these tables; it must not be ready. */
async function reports(one: AgentProcess, message: RegExp): Promise<void> {
  await eventually(() => assert.match(one.log, message));
  const url = "http://127.0.0.1:10269/readyz";
  const status = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", url];
  assert.equal(await node.exec(status), "503");
}

const LEGACY =
  /CSP_CAPABILITY_MISSING.*iptables-legacy-save -t filter: .*CAP_NET_RAW.*components\/net-raw/;

test("without NET_RAW, nothing changes on a node whose legacy tables hold the rules of an earlier agent; with it, cleanup leaves those of others only", async () => {
  node = lab.node("c1", "n1");
  await node.exec(["iptables-legacy", "-w", ...OTHER]);
  const rules = async () =>
    (await node.exec(["iptables-legacy-save"])).replaceAll(/^#.*\n| \[\d+:\d+\]$/gm, "");
  const first = withRaw();
  await first.start();
  await first.stop();
  const before = await rules();
  assert.match(before, /10\.1\.0\.11:8080/);

  const upgraded = plain();
  upgraded.launch();
  await reports(upgraded, LEGACY);
  await upgraded.stop();
  assert.equal(await rules(), before);
  assert.doesNotMatch(await node.exec(["iptables-nft-save"]), /CSP-/);

  const last = withRaw();
  await last.start();
  assert.equal(await rules(), before);
  await last.stop();
  await node.exec([AGENT, "cleanup"]);
  assert.deepEqual((await rules()).match(/^-A .*|^:(?!.* ACCEPT$).*/gm), [OTHER_SAVED]);
});

test("without NET_RAW, --iptables-flavour legacy is not possible, and the log says why", async () => {
  node = lab.node("c1", "n2");
  const chosen = plain("--iptables-flavour", "legacy");
  chosen.launch();
  await reports(chosen, LEGACY);
});

test("without NET_RAW, nft is used if the kubelet's hint is in it; legacy tables beside it may hold leftovers", async () => {
  node = lab.node("c1", "n3");
  await node.exec(["iptables-nft", "-t", "mangle", "-N", "KUBE-IPTABLES-HINT"]);
  const early = plain();
  await early.start();
  assert.match(await node.exec(["iptables-nft-save"]), /10\.1\.0\.11:8080/);
  assert.doesNotMatch(early.log, /CSP_|Could not/);
  await early.stop();

  await node.exec(["iptables-legacy", "-w", ...OTHER]);
  const late = plain();
  await late.start();
  await eventually(() =>
    assert.match(
      late.log,
      /"flavour":"legacy".*CSP_CAPABILITY_MISSING.*Could not remove leftover objects/,
    ),
  );
});

test("without NET_RAW, rules with an ipset cannot be listed, and nothing is written", async () => {
  node = lab.node("c1", "n4");
  await node.exec(["ipset", "create", "denied", "hash:ip"]);
  const rule = ["-A", "INPUT", "-m", "set", "--match-set", "denied", "src", "-j", "DROP"];
  await node.exec(["iptables-nft", ...rule]);
  const refused = plain();
  refused.launch();
  await reports(
    refused,
    /CSP_CAPABILITY_MISSING.*iptables-nft-save.*ipset need.*components\/net-raw/,
  );
  await refused.stop();
  assert.doesNotMatch(await node.exec(["iptables-nft-save"]), /CSP-/);
  await withRaw().start();
  assert.match(await node.exec(["iptables-nft-save"]), /10\.1\.0\.11:8080/);
});
