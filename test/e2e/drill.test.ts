import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { nodeShare } from "../../agent/sync/node-shifts.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { parseShift } from "../../api/shift.ts";
import type { ClusterNode } from "../cluster/cluster-node.ts";
import { now } from "../connections/connections.ts";
import { manifest } from "../generators/objects.ts";
import { eventually } from "../stages/agent-process.ts";
import { assertHeld, assertNoneFailed, Caller, type CallerOptions } from "./caller.ts";
import { Clusterset } from "./clusterset.ts";
import { effectOf, untilAnswered } from "./effect.ts";
import { blocksOf, stepsOf } from "./guide.ts";
import { nodeFailure } from "./node-failure.ts";
import { powerCuts } from "./power-cuts.ts";
import { Reader } from "./reader.ts";
import { deedsOf, pageOf, rulesOfAgent, rulesOfImport } from "./rules.ts";

// docs/guides/drill.md by copy and paste, and then the plugs are pulled: a service in three clusters, two of them in one region, and
// pods of cluster-1 that keep calling it by its name. Times are reported, and nothing is said of how long they may be.

const GUIDE = "drill.md";
const MAINTENANCE = "maintenance.md";
/** What hub.test.ts follows of it. */
const WITH_A_HUB = ["On the hub", "Drained on the hub"];
/** Milliseconds out of rotation after which nodes return one by one, and more, because a controller counts from when it is told. */
const LONG_MS = 62_000;
const [LOCAL, REGIONAL, GLOBAL] = ["cluster-1", "cluster-2", "cluster-3"] as const;
const [BY_LOCAL, BY_REGIONAL, BY_GLOBAL] = [/^cluster-1\//, /^cluster-2\//, /^cluster-3\//];
const TARGET = "http://serve.demo.svc.clusterset.local";

describe("a service in three clusters, with pods that call it continuously", () => {
  let set: Clusterset;
  let reader: Reader;
  let callers: Caller[];
  /** Where cluster-1 has its DNS server and the callers, and the other one of its nodes. */
  let staying: ClusterNode;
  let doomed: ClusterNode;
  before(async () => {
    set = await Clusterset.create({
      ...{ clusters: 3, nodes: 2, regions: ["eu-west", "eu-west", "us-east"] },
      late: [REGIONAL, GLOBAL].map((id) => `${id}-node-2`),
    });
    const place = await nodeOfDns(set);
    const nodes = set.clusters.cluster(LOCAL).nodes;
    const of = (isHere: boolean) => nodes.filter(({ name }) => (name === place) === isHere);
    const [[here], [there]] = [of(true), of(false)];
    assert.ok(here && there, `DNS is on ${place}`);
    [staying, doomed] = [here, there];
    reader = new Reader(set.clusters, GUIDE, { node: staying });
    await reader.follow("Set up");
    callers = await Promise.all(
      [staying, doomed].map(({ name }) => call(LOCAL, { name: `from-${name}`, node: name })),
    );
    await untilAnswered(callers, BY_LOCAL);
  });
  after(async () => {
    await reader?.[Symbol.asyncDispose]();
    await set?.remove();
  });

  test("kubectl scale: local, regional, global, and back, and no call fails", async (t) => {
    await moves(t, "local scaled to 0", BY_REGIONAL, async () => {
      assertUnharmed(await reader.follow("Out of the cluster"), BY_REGIONAL);
    });
    await moves(t, "regional scaled to 0", BY_GLOBAL, async () => {
      assertUnharmed(await reader.follow("Out of the region"), BY_GLOBAL);
    });
    await moves(t, "regional scaled to 1", BY_REGIONAL, () => reader.follow("Into the region"));
    await moves(t, "local scaled to 1", BY_LOCAL, () => reader.follow("Into the cluster"));
    for (const caller of callers) assertNoneFailed(await caller.calls());
  });

  test("kubectl clusterset drill scales it to nothing and back, prints which cluster took over, and no connection fails", async (t) => {
    const printed = await reader.follow("In one command");
    t.diagnostic(printed);
    assert.match(printed, /^as it is +local cluster-1 \(1\) +\d+ +[\d.]+ ms +0$/m);
    assert.match(printed, /^scaled to nothing +regional cluster-2 \(1\) +\d+ +[\d.]+ ms +0$/m);
    assert.match(printed, /^scaled back +local cluster-1 \(1\) +\d+ +[\d.]+ ms +0$/m);
    const left = await reader.paste(
      "kubectl --context cluster-1 -n demo get pods -l app.kubernetes.io/managed-by=kubectl-clusterset -o name",
    );
    assert.equal(left, "");
    await untilAnswered(callers, BY_LOCAL);
  });

  test("a Service's own name fails over and back, by copy and paste, and no call fails", async (t) => {
    await using guide = new Reader(set.clusters, "same-name.md");
    const target = "http://serve.demo.svc.cluster.local";
    const own = await call(LOCAL, { name: "own-name", node: staying.name, target });
    await untilAnswered([own], BY_LOCAL);
    await guide.follow("Turn it on");
    const [out = "", back = ""] = blocksOf("same-name.md", "Try it");
    const gone = "kubectl --context cluster-1 -n demo wait --for=delete pods -l app=serve";
    await effectOf(t, "own name, to 0", [own], BY_REGIONAL, () => guide.paste(`${out}\n${gone}`));
    await effectOf(t, "own name, to 1", [own], BY_LOCAL, () => guide.paste(back));
    await guide.follow("Turn it off");
    await untilAnswered(callers, BY_LOCAL);
    assertNoneFailed(await own.stop());
  });

  // docs/guides/maintenance.md: cluster-1 is drained on its own side, and cluster-2, as seen from cluster-1, in its importer.
  describe("maintenance", { concurrency: 1 }, () => {
    let owner: Reader;
    let importer: Reader;
    let outSince = 0;
    before(async () => {
      owner = new Reader(set.clusters, MAINTENANCE, { node: staying });
      // The callers' cluster is the importer: its names are swapped.
      const adapt = (commands: string) =>
        commands.replaceAll(/cluster-[12]\b/g, (id) => (id === LOCAL ? REGIONAL : LOCAL));
      importer = new Reader(set.clusters, MAINTENANCE, { adapt });
      for (const one of [owner, importer]) await one.paste("USER=ann");
    });
    after(async () => {
      for (const one of [owner, importer]) await one?.[Symbol.asyncDispose]();
    });

    test("a cluster is drained on its own side: new connections go elsewhere, established ones stay, none fails, and all places of the guide show it", async (t) => {
      const held = await call(LOCAL, { name: "stays", node: staying.name, hold: true });
      await untilAnswered([held], BY_LOCAL);
      const { length } = await held.calls();
      await moves(t, "drained", BY_REGIONAL, async () => {
        await owner.follow("Take it out");
        outSince = performance.now();
      });
      await owner.follow("Check");
      assertHeld(await held.calls(), BY_LOCAL, length);
    });

    test("another one is drained in the cluster that imports from it, and back", async (t) => {
      await moves(t, "drained by its importer", BY_GLOBAL, () =>
        importer.follow("In an importing cluster"),
      );
      await moves(t, "its importer's drain ended", BY_REGIONAL, () =>
        importer.follow("Drained in an importing cluster"),
      );
    });

    powerCuts(() => ({ set, nodes: [staying, doomed] }));

    test("nodes return to a drained cluster one by one, each at its own moment, and no call fails", async (t) => {
      await sleep(Math.max(0, outSince + LONG_MS - performance.now()));
      const undrained = now();
      await moves(t, "undrained", BY_LOCAL, async () => {
        await owner.follow("Drained on its own side");
        // Both nodes wait at first.
        const untilWaits = (node: ClusterNode) =>
          eventually(async () =>
            assert.match(await pageOf(node, "/plan/demo/serve"), /"reason": "returning"/),
          );
        await Promise.all([staying, doomed].map(untilWaits));
      });
      await assertGentle(undrained);
      const left = owner.left.filter((block) => importer.left.includes(block));
      const hub = WITH_A_HUB.flatMap((heading) => stepsOf(MAINTENANCE, heading));
      assert.deepEqual(left.join(), hub.map(({ commands }) => commands).join());
    });

    /** Asserts that no node has used its own cluster before its moment in the window. */
    async function assertGentle(undrained: number): Promise<void> {
      const of = `multicluster.kubernetes.io/service-name=serve,multicluster.kubernetes.io/source-cluster=${LOCAL}`;
      const { admin } = set.clusters.cluster(LOCAL);
      const [slice] = await admin.list(manifest("EndpointSlice", "demo/any"), {
        labelSelector: of,
      });
      const shift = parseShift(slice);
      assert.equal(shift?.direction, "returning");
      // Callers have another clock.
      const begin = (shift?.from ?? 0) - Date.now() + now();
      for (const [i, { name }] of [staying, doomed].entries()) {
        const calls = (await callers[i]?.callsSince(undrained)) ?? [];
        const local = calls.filter((call) => BY_LOCAL.test(call.name ?? ""));
        const first = Math.min(...local.map(({ at, ms }) => at + ms));
        const moment = begin + nodeShare(name) * (shift?.length ?? 0);
        assert.ok(first >= moment, `${name} at ${first - begin}, not ${moment - begin} ms`);
      }
    }
  });

  describe("power failures", { concurrency: 2 }, () => {
    before(async () => {
      await reader.follow("Detect failed clusters sooner");
      await callers.pop()?.stop();
    });

    nodeFailure(() => ({ set, staying, doomed }));

    describe("of other clusters", { concurrency: 1 }, () => {
      before(async () => {
        await set.shell(`kubectl --context ${LOCAL} -n demo scale deployment/serve --replicas=0`);
        await untilAnswered(callers, BY_REGIONAL);
      });

      test("a control plane: new connections go to other clusters, established ones and those of its own pods continue, and none fails", async (t) => {
        const { plane, nodes } = set.clusters.cluster(REGIONAL);
        const [node] = nodes;
        assert.ok(node);
        const held = await call(LOCAL, { name: "held", node: staying.name, hold: true });
        const own = await call(REGIONAL, { name: "own" });
        await untilAnswered([held, own], BY_REGIONAL);
        const rules = await rulesOfAgent(node);
        await moves(t, "control plane killed", BY_GLOBAL, () => plane.kill());
        assert.equal(await rulesOfAgent(node), rules);
        await reader.follow("Power and network failures");
        assert.deepEqual(reader.left, []);
        await moves(t, "control plane back", BY_REGIONAL, () => plane.start());
        assert.equal(await rulesOfAgent(node), rules);
        await untilAnswered([held, own], BY_REGIONAL);
        assertHeld(await held.calls(), BY_REGIONAL);
        for (const { name = "" } of await own.stop()) assert.match(name, BY_REGIONAL);
      });

      test("a partition: connections move away from the unreachable cluster, and back", async (t) => {
        const all = set.clusters.all.flatMap((cluster) => cluster.nodes);
        const nodes = all.filter((node) => node !== doomed);
        const witness = set.clusters.cluster(GLOBAL).nodes;
        const rules = () => Promise.all(nodes.map((node) => rulesOfImport(node, "demo/serve")));
        const before = await rules();
        const deeds = await Promise.all(witness.map(deedsOf));
        const cut = () => set.clusters.cut(LOCAL, REGIONAL, "pods");
        const { failed, failedLater } = await effectOf(t, "pods cut", callers, BY_GLOBAL, cut);
        assertOnly(failed, ["timeout"]);
        assert.equal(failedLater, 0, "only calls that were accepted before are lost");
        await moves(t, "pods healed", BY_REGIONAL, () => set.clusters.heal());
        await moves(t, "API cut", BY_GLOBAL, () => set.clusters.cut(LOCAL, REGIONAL, "api"));
        await moves(t, "all cut", BY_GLOBAL, () => set.clusters.cut(LOCAL, REGIONAL));
        await moves(t, "healed", BY_REGIONAL, () => set.clusters.heal());
        await eventually(async () => assert.deepEqual(await rules(), before), 60_000);
        assert.deepEqual(await Promise.all(witness.map(deedsOf)), deeds);
      });
    });
  });

  function call(
    cluster: string,
    options: Pick<CallerOptions, "name" | "node" | "hold" | "timeoutMs"> & { target?: string },
  ): Promise<Caller> {
    return Caller.start(set, {
      // A busy machine can block for seconds.
      ...{ cluster, namespace: "demo", target: TARGET, timeoutMs: 20_000 },
      ...options,
    });
  }

  /** Something after which calls are answered from somewhere else, and that no call fails for. */
  async function moves(
    t: TestContext,
    what: string,
    expected: RegExp,
    act: () => Promise<unknown>,
  ): Promise<void> {
    const { failed } = await effectOf(t, what, callers, expected, act);
    assert.deepEqual(failed, {}, what);
  }
});

/** The node of cluster-1 whose end would take all names with it: it has one DNS server. */
async function nodeOfDns(set: Clusterset): Promise<string> {
  const { admin } = set.clusters.cluster(LOCAL);
  const pods = await admin.list(manifest("Pod", "kube-system/any"));
  // There was another one until it learned of clusterset.local.
  const lasting = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  assert.equal(lasting.length, 1);
  return String(fieldAt(lasting[0], "spec", "nodeName"));
}

/** The caller's line of each second: nothing failed, and the pod that responds in the end. */
function assertUnharmed(said: string, by: RegExp): void {
  const sums = said.split("\n").filter((line) => line.startsWith("{"));
  assert.ok(sums.length > 0, said);
  for (const line of sums) assert.deepEqual(JSON.parse(line).errors, {}, line);
  for (const name of Object.keys(JSON.parse(sums.at(-1) ?? "").answers)) assert.match(name, by);
}

function assertOnly(failed: Readonly<Record<string, number>>, words: readonly string[]): void {
  const others = Object.keys(failed).filter((word) => !words.includes(word));
  assert.deepEqual(others, [], JSON.stringify(failed));
}
