import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { after, before, describe, type TestContext, test } from "node:test";
import { earlierReleaseMissing } from "../apiserver/earlier-release.ts";
import { eventually } from "../stages/agent-process.ts";
import { deedsOf } from "./agents.ts";
import { Caller } from "./caller.ts";
import { Clusterset, releaseIn } from "./clusterset.ts";
import { type EarlierImages, earlierImages } from "./earlier-images.ts";
import { effectOf } from "./effect.ts";
import { functionOf } from "./guide.ts";
import { RELEASE } from "./images.ts";

// The images and manifests of the last release, in one cluster and then in both, beside these. The steps are those of the guide to
// upgrade, and of the changelog (Upgrade and roll back). The tests are one story, in order. Both releases have the same permissions, so
// no request is denied meanwhile; test/apiserver/other-release.test.ts has the details.

const [FIRST, SECOND] = ["cluster-1", "cluster-2"];
const PATIENCE_MS = 60_000;

describe("two clusters with the last release's images", {
  skip: earlierReleaseMissing() ?? false,
}, () => {
  let earlier: EarlierImages & { readonly folder: string };
  let set: Clusterset;
  let callers: Readonly<Record<string, Caller>>;
  let vips: string;

  before(async () => {
    earlier = await earlierImages();
    set = await Clusterset.create({
      ...{ clusters: 2, nodes: 1, regions: ["eu-west", "us-east"] },
      images: earlier.images,
      release: earlier,
    });
    await Promise.all(set.ids.map((id) => set.shell(served(id))));
    vips = await addresses();
    const target = "http://serve.demo.svc.clusterset.local";
    const started = set.ids.map(async (cluster) => [
      cluster,
      await Caller.start(set, { cluster, namespace: "demo", name: "calls", target }),
    ]);
    callers = Object.fromEntries(await Promise.all(started));
  });
  after(async () => {
    await set?.remove();
    if (earlier !== undefined) rmSync(earlier.folder, { recursive: true });
  });

  test("each follows the other", async (t) => {
    assert.deepEqual(await releases(), { [FIRST]: earlier.version, [SECOND]: earlier.version });
    await assertFollows(t);
  });

  test("one is upgraded: no call fails, and each follows the other", async (t) => {
    await changed(t, FIRST, set.ours(FIRST));
    assert.deepEqual(await releases(), { [FIRST]: RELEASE, [SECOND]: earlier.version });
    await assertFollows(t);
  });

  test("it is rolled back: no call fails, and each follows the other", async (t) => {
    await changed(t, FIRST, releaseIn(FIRST, earlier));
    assert.deepEqual(await releases(), { [FIRST]: earlier.version, [SECOND]: earlier.version });
    await assertFollows(t);
  });

  test("both are upgraded, the other one first: no call fails, and each follows the other", async (t) => {
    await changed(t, SECOND, set.ours(SECOND));
    await changed(t, FIRST, set.ours(FIRST));
    assert.deepEqual(await releases(), { [FIRST]: RELEASE, [SECOND]: RELEASE });
    await assertFollows(t);
  });

  /** Applies another release in a cluster, while pods of both call. */
  async function changed(t: TestContext, cluster: string, commands: string): Promise<void> {
    const rollout = `kubectl --context ${cluster} -n clusterset-proxy rollout status --timeout=180s`;
    const apply = () =>
      set.shell(`${commands}
${rollout} daemonset/clusterset-agent
${rollout} deployment/clusterset-controller`);
    await assertAnswered(t, `${cluster} changes its release`, { acts: apply });
    assert.equal(await addresses(), vips);
  }

  /** Each cluster scales to zero and back: its pods are answered by the other, and no call fails. */
  async function assertFollows(t: TestContext): Promise<void> {
    for (const id of set.ids) {
      const other = id === FIRST ? SECOND : FIRST;
      const acts = (replicas: number) => () =>
        set.clusters.kubectl(id, [
          ..."-n demo scale deployment serve --replicas".split(" "),
          `${replicas}`,
        ]);
      await assertAnswered(t, `${id} to zero`, { acts: acts(0), from: id, by: other });
      await assertAnswered(t, `${id} back`, { acts: acts(1) });
    }
  }

  /** By each cluster's own pods, but those of `from` by `by`. */
  async function assertAnswered(
    t: TestContext,
    what: string,
    { acts, from, by }: { acts: () => Promise<unknown>; from?: string; by?: string | undefined },
  ): Promise<void> {
    const begun = acts();
    const effects = set.ids.map((id) => {
      const caller = callers[id] ?? assert.fail(id);
      const name = new RegExp(`^${id === from ? by : id}/`);
      return effectOf(t, `${what}, seen from ${id}`, [caller], name, () => begun);
    });
    for (const { failed } of await Promise.all(effects)) assert.deepEqual(failed, {}, what);
  }

  /** The release of each cluster's agents. */
  async function releases(): Promise<Record<string, string>> {
    const found = set.clusters.all.map(async ({ id, nodes: [node] }) => {
      const { release } = await eventually(
        () => deedsOf(node ?? assert.fail("no node")),
        PATIENCE_MS,
      );
      return [id, release];
    });
    return Object.fromEntries(await Promise.all(found));
  }

  async function addresses(): Promise<string> {
    const get = "-n demo get serviceimport serve -o jsonpath={.spec.ips[0]}".split(" ");
    return (await Promise.all(set.ids.map((id) => set.clusters.kubectl(id, get)))).join();
  }
});

/** Commands: the service of the guide, exported, in one cluster. */
function served(cluster: string): string {
  return `${functionOf("drill.md", "serve")}
serve ${cluster}
kubectl --context ${cluster} -n demo rollout status --timeout=120s deployment/serve
kubectl --context ${cluster} -n demo wait --for=condition=Ready --timeout=60s serviceexport/serve`;
}
