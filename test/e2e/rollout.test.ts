import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import { fieldAt } from "../../api/parse/fields.ts";
import type { ClusterNode } from "../cluster/cluster-node.ts";
import type { Host } from "../cluster/host.ts";
import { manifest } from "../generators/objects.ts";
import { eventually } from "../stages/agent-process.ts";
import { assertNoneFailed, Caller, type CallerOptions } from "./caller.ts";
import { Clusterset } from "./clusterset.ts";
import { effectOf, untilAnswered } from "./effect.ts";
import { NEXT_RELEASE, nextImages, RELEASE } from "./images.ts";
import { Reader } from "./reader.ts";
import { AGENT_PROGRAM, type AgentDeeds, deedsOf, rulesOfAgent } from "./rules.ts";
import { uninstalling } from "./uninstall.ts";
import { exported, web } from "./web.ts";

/**
 * Lowers the memory limit of a program's control group (version 1, then version 2) to a little more than its use, and exhausts it
 * by another process of the group: `tail` stores an endless line. The kernel kills the program first, because of its OOM score.
 * Version 1 rejects a limit below the present use. A killed process loses its memory before it has ended, which takes a moment on
 * a busy machine.
 */
const EXHAUST = `pid=$1
group=$(sed -n 's/^[0-9]*:memory://p' /proc/$pid/cgroup)
if [ -n "$group" ]; then
  group=/sys/fs/cgroup/memory$group limit=memory.limit_in_bytes used=memory.usage_in_bytes
else
  group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/$pid/cgroup) limit=memory.max used=memory.current
fi
echo 1000 >/proc/$pid/oom_score_adj
echo $(($(cat $group/$used) + 16777216)) >$group/$limit
sh -c 'echo 0 >"$0/cgroup.procs" && tail /dev/zero >/dev/null' $group
for _ in $(seq 100); do
  [ -d /proc/$pid ] || exit 0
  sleep 0.1
done
exit 1`;

/**
 * Has the kernel's OOM killer kill the only program of a container whose command line matches: the control group's memory runs
 * out, as it does when a program leaks. Throws unless just that happens.
 */
async function killForMemory(host: Host, pattern: string): Promise<void> {
  const pid = (await host.exec(["pgrep", "-f", pattern])).trim();
  if (!/^\d+$/.test(pid)) throw new Error(`"${pattern}" is not one program: ${pid}`);
  await host.exec(["sh", "-c", `${EXHAUST}`, "sh", pid]);
}

// What becomes of nodes and agents in the life of a cluster, while pods in both clusters make hundreds of connections a second:
// no test lets one of them fail. The tests are one story, in order. kube-proxy is in iptables mode. It ends with an uninstallation in which
// much goes wrong.

const HERE = "cluster-1";
const PATIENCE_MS = 60_000;
const BY = /^web-/;
/** The limit of a call: longer than any successful call on a busy machine. */
const TIMEOUT_MS = 10_000;

let set: Clusterset;
after(() => set?.remove());

describe("two clusters whose pods call a ClusterSetIP continuously", () => {
  let reader: Reader;
  let callers: Caller[];
  /** Of the images that the cluster begins with. */
  let digests: Map<string, string>;
  before(async () => {
    set = await Clusterset.create({
      ...{ clusters: 2, nodes: 2, regions: ["eu-west", "us-east"] },
      late: [`${HERE}-node-2`],
    });
    const place = { namespace: "demo", name: "web" };
    const places = set.ids.map((cluster) => ({ cluster, ...place }));
    await Promise.all(places.map((one) => set.shell(`${web(one)}\n${exported(one)}`)));
    callers = (await Promise.all(set.ids.map((id) => callersOf(id)))).flat();
    await untilAnswered(callers, BY);
    reader = new Reader(set.clusters, "upgrade.md");
  });
  after(() => reader?.[Symbol.asyncDispose]());

  test("a node is added: it gets an agent and rules, and no call of its pods fails", async (t) => {
    await survives(t, async () => {
      const node = await set.clusters.cluster(HERE).addNode("node-2");
      await eventually(() => deedsOf(node), PATIENCE_MS);
      assert.match(await rulesOfAgent(node), /"demo\/web:http local cluster-1"/);
      await assertServed(await callersOf(HERE, node.name));
    });
  });

  test("an upgrade to the next release fails no connection; its agents write no rule, and its controllers no object", async (t) => {
    const next = await nextImages();
    for (const node of nodes()) for (const { archive } of next) await node.load(archive);
    const before = [await rules(), await carried()];
    digests = await imagesOf(RELEASE);
    const old = await deeds();
    // It shows that they have written nothing.
    await survives(t, () => reader.follow("Upgrade"));
    const upgraded = await eventually(() => imagesOf(NEXT_RELEASE), PATIENCE_MS);
    for (const [name, digest] of upgraded) {
      assert.notEqual(digest, digests.get(name), `${name} runs the same image as before`);
    }
    for (const [node, { started, release }] of await deeds()) {
      assert.ok(started > (old.get(node)?.started ?? 0), `${node} has its old agent`);
      assert.equal(release, NEXT_RELEASE);
    }
    assert.deepEqual([await rules(), await carried()], before);
  });

  test("a rollback to the previous release fails no connection either", async (t) => {
    const before = [await rules(), await carried()];
    await survives(t, () => reader.follow("Roll back"));
    assert.deepEqual(reader.left, []);
    const rolledBack = await eventually(() => imagesOf(RELEASE), PATIENCE_MS);
    assert.deepEqual(rolledBack, digests);
    for (const one of (await deeds()).values()) assertIdle(one);
    assert.deepEqual([await rules(), await carried()], before);
  });

  test("a kubelet is killed and restarted: agents and rules stay the same", async (t) => {
    const node = set.clusters.cluster(HERE).node("node-1");
    const before = [await rules(), await deeds()];
    await survives(t, async () => {
      await node.killKubelet();
      const killed = Date.now();
      node.startKubelet();
      await eventually(async () => assert.ok((await heartbeatOf(node)) > killed), PATIENCE_MS);
    });
    assert.deepEqual([await rules(), await deeds()], before);
  });

  test("an agent that is killed because it is out of memory is restarted, and writes no rule", async (t) => {
    const node = set.clusters.cluster(HERE).node("node-1");
    const before = await rules();
    const { started } = await deedsOf(node);
    await survives(t, async () => {
      await killForMemory(node.host, AGENT_PROGRAM);
      await eventually(async () => {
        const successor = await deedsOf(node);
        assert.ok(successor.started > started);
        assertIdle(successor);
      }, PATIENCE_MS);
    });
    await eventually(async () => {
      const there = (await pods()).filter(({ spec }) => spec.nodeName === node.name);
      const agent = there.find(({ spec }) => spec.hostNetwork);
      assert.equal(agent?.status.containerStatuses[0]?.lastState.terminated?.reason, "OOMKilled");
    }, PATIENCE_MS);
    assert.deepEqual(await rules(), before);
  });

  test("a node is rebooted: it gets its rules, and after that no call of its pods fails", async (t) => {
    const node = set.clusters.cluster(HERE).node("node-2");
    const before = await rules();
    await survives(t, async () => {
      await node.restart();
      const { written } = await eventually(() => deedsOf(node), PATIENCE_MS);
      assert.ok(written > 0);
      assert.deepEqual(await rules(), before);
      await assertServed(await callersOf(HERE, node.name, "rebooted"));
    });
  });

  test("no call has failed during any of these tests", async (t) => {
    const all = (await Promise.all(callers.map((caller) => caller.stop()))).flat();
    assertNoneFailed(all);
    // A lost SYN costs a second.
    const slowest = Math.max(...all.map(({ ms }) => ms));
    t.diagnostic(`${all.length} calls, the slowest ${Math.round(slowest)} ms`);
  });

  /** Does something during which no call fails, nor shortly after. */
  async function survives(t: TestContext, happening: () => Promise<unknown>): Promise<void> {
    const { failed } = await effectOf(t, t.name, callers, BY, happening);
    assert.deepEqual(failed, {});
  }

  /** Ends calls that began on a new node, once they are answered; none has failed. */
  async function assertServed(newcomers: readonly Caller[]): Promise<void> {
    await untilAnswered(newcomers, BY);
    for (const caller of newcomers) assertNoneFailed(await caller.stop());
  }

  function nodes(): ClusterNode[] {
    return set.clusters.all.flatMap((cluster) => cluster.nodes);
  }

  /** The agents' rules of all nodes. */
  function rules(): Promise<Map<string, string>> {
    return byNode(rulesOfAgent);
  }

  function deeds(): Promise<Map<string, AgentDeeds>> {
    return byNode(deedsOf);
  }

  async function byNode<T>(ask: (node: ClusterNode) => Promise<T>): Promise<Map<string, T>> {
    const pairs = nodes().map(async (node): Promise<[string, T]> => [node.name, await ask(node)]);
    return new Map(await Promise.all(pairs));
  }

  /** Imports and slices of both clusters, with their resourceVersions, which every write changes. */
  async function carried(): Promise<string[]> {
    const objects = ["get", "serviceimports,endpointslices", "-A", "-o"];
    const version =
      "jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}\n{end}";
    return Promise.all(set.ids.map((id) => set.clusters.kubectl(id, [...objects, version])));
  }

  /** The digests of the images that agents and controllers run, by name without tag. Throws if they do not all run this release. */
  async function imagesOf(release: string): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for (const { spec, status } of await pods()) {
      const [container] = spec.containers;
      const [name = "", tag] = container?.image.split(":") ?? [];
      assert.equal(tag, release);
      const digest = status.containerStatuses[0]?.imageID ?? "";
      assert.match(digest, /sha256:/);
      assert.equal(found.get(name) ?? digest, digest, `${name} runs as two images`);
      found.set(name, digest);
    }
    return found;
  }

  /** Agents and controllers of both clusters. */
  async function pods(): Promise<Pod[]> {
    const ours = manifest("Pod", "clusterset-proxy/any");
    const lists = await Promise.all(set.clusters.all.map(({ admin }) => admin.list(ours)));
    return lists.flat() as unknown[] as Pod[];
  }

  /** When a kubelet last renewed its Lease. */
  async function heartbeatOf({ name }: ClusterNode): Promise<number> {
    const { admin } = set.clusters.cluster(HERE);
    const lease = await admin.get(manifest("Lease", `kube-node-lease/${name}`));
    return Date.parse(String(fieldAt(lease, "spec", "renewTime")));
  }

  /** Starts two pods: one does nothing but connect, hundreds of times a second, one looks the name up and asks. */
  async function callersOf(cluster: string, node?: string, suffix = node): Promise<Caller[]> {
    const vip = await set.vipOf(cluster, "demo/web");
    const place = { cluster, namespace: "demo", ...(node === undefined ? {} : { node }) };
    const call = (what: string, options: Pick<CallerOptions, "target" | "rate">) => {
      const name = suffix === undefined ? what : `${what}-${suffix}`;
      return Caller.start(set, { ...place, name, timeoutMs: TIMEOUT_MS, ...options });
    };
    return Promise.all([
      call("connects", { target: `tcp://${vip}:80`, rate: 150 }),
      // A lookup waits in one of Node's four threads, for 5 s if an answer is lost: who asks more often than those end never
      // gets through again.
      call("asks", { target: "http://web.demo.svc.clusterset.local", rate: 4 }),
    ]);
  }
});

uninstalling(() => set);

interface Pod {
  readonly spec: {
    readonly nodeName: string;
    readonly hostNetwork?: boolean;
    readonly containers: readonly { readonly image: string }[];
  };
  readonly status: {
    readonly containerStatuses: readonly {
      readonly imageID: string;
      readonly lastState: { readonly terminated?: { readonly reason: string } };
    }[];
  };
}

function assertIdle({ written, deleted, repaired }: AgentDeeds): void {
  assert.deepEqual({ written, deleted, repaired }, { written: 0, deleted: 0, repaired: 0 });
}
