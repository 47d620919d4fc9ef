import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Clusters } from "../cluster/clusters.ts";
import { PROBE_IMAGE } from "../cluster/images.ts";
import { assertNone, deniedIn } from "./denied.ts";
import { functionOf } from "./guide.ts";
import { programImages } from "./images.ts";
import { Reader } from "./reader.ts";
import { tracesIn } from "./rules.ts";

// A user's first hour, by the commands of the guides, on two clusters of one node each: join, export, call by name, drill, status,
// leave. The tests are one story, in order.

const CLUSTERS = ["cluster-1", "cluster-2"] as const;
const NAME = "http://serve.demo.svc.clusterset.local";

/** The server of the guide for drills, as the lab has it: one image less to build. */
const SERVE = functionOf("drill.md", "serve").replace(
  "image: clusterset-serve:0.2.0",
  `image: ${PROBE_IMAGE}\n          command: [node, /app/serve/serve.ts]`,
);

describe("a user's first hour with two clusters", () => {
  let clusters: Clusters;
  let user: Reader;
  before(async () => {
    const images = await programImages();
    clusters = await Clusters.create({ clusters: 2, regions: ["eu-west", "us-east"], images });
    user = new Reader(clusters, "install.md");
  });
  after(async () => {
    await user?.[Symbol.asyncDispose]();
    await clusters?.remove();
  });

  test("join prints that programs are ready and each controller reads the other cluster", async () => {
    const printed = await user.follow("Install");
    for (const [here, there] of [CLUSTERS, CLUSTERS.toReversed()]) {
      assert.match(printed, new RegExp(`^${here}: clusterset-agent is ready$`, "m"));
      assert.match(printed, new RegExp(`^${here}: clusterset-controller is ready$`, "m"));
      assert.match(printed, new RegExp(`^${here}: its controller reads ${there}$`, "m"));
      assert.match(printed, new RegExp(`^${here} +${there} +ok +ok +ok$`, "m"));
    }
  });

  test("a Service that one cluster exports answers in the other one, by its name", async () => {
    await user.paste(`${SERVE}
serve cluster-2
kubectl --context cluster-1 create namespace demo
kubectl --context cluster-1 -n demo run client --image=${PROBE_IMAGE}
kubectl --context cluster-2 -n demo rollout status --timeout=120s deployment/serve
kubectl --context cluster-2 -n demo wait --for=condition=Ready --timeout=60s serviceexport/serve
kubectl --context cluster-1 -n demo wait --for=condition=Ready --timeout=60s pod/client serviceimport/serve
call() { kubectl --context cluster-1 -n demo exec client -- node /app/request/request.ts "$@" ${NAME}; }
until call; do sleep 0.2; done`);
    assert.deepEqual(await answers(5), ["cluster-2"]);
  });

  test("a drill moves all connections to the other cluster and back, and none fails", async () => {
    await user.paste(`serve cluster-1
kubectl --context cluster-1 -n demo rollout status --timeout=120s deployment/serve
kubectl --context cluster-1 -n demo wait --for=condition=Ready --timeout=60s serviceexport/serve
until call | grep '"name":"cluster-1/'; do sleep 0.2; done`);
    assert.deepEqual(await answers(5), ["cluster-1"]);
    // Exit code 4 if a connection fails. The table says which, so it is printed in any case.
    const printed = await user.paste(
      `kubectl clusterset drill demo/serve --context cluster-1 --yes --settle 3s || echo "exit code $?"`,
    );
    const rows = [...printed.matchAll(/^(as it is|scaled to nothing|scaled back) {2,}(.+)$/gm)];
    const phases = rows.map(([, phase, cells = ""]) => {
      const [answeredBy, connections, , failed] = cells.split(/ {2,}/);
      assert.ok(Number(connections) > 0, printed);
      return `${phase}: ${answeredBy}, ${failed} failed`;
    });
    assert.deepEqual(phases, [
      "as it is: local cluster-1 (1), 0 failed",
      "scaled to nothing: global cluster-2 (1), 0 failed",
      "scaled back: local cluster-1 (1), 0 failed",
    ]);
    assert.doesNotMatch(printed, /exit code/);
    const left = await user.paste(
      `kubectl --context cluster-1 -n demo get deployment serve -o jsonpath='{.spec.replicas} {.status.readyReplicas} {.metadata.annotations}'
kubectl --context cluster-1 -n demo get pods -l app.kubernetes.io/managed-by=kubectl-clusterset -o name`,
    );
    assert.match(left, /^1 1 /);
    assert.doesNotMatch(left, /drill/);
    assert.deepEqual(await answers(5), ["cluster-1"]);
  });

  test("status shows both clusters alive and seen by all, their programs in sync, and no problem", async () => {
    const printed = await user.paste(
      `kubectl clusterset status --all-contexts || echo "exit code $?"`,
    );
    for (const cells of [
      ...["cluster-1  eu-west", "cluster-2  us-east"].map(
        (place) => String.raw`${place}  alive  renewing  \S+ ms  \S+  1  1  all 2`,
      ),
      ...CLUSTERS.map((id) => String.raw`${id}  2/2  1/1  1  0  0  0  \S+`),
      String.raw`No problems\.`,
    ])
      assert.match(printed, new RegExp(`^${cells.replaceAll("  ", " +")}$`, "m"));
    assert.doesNotMatch(printed, /exit code/);
  });

  test("API servers denied no request of agents, controllers, peers and DNS", () => {
    assertNone(
      clusters.all.flatMap(({ plane }) => deniedIn(plane.auditFile, (at) => plane.wasStarting(at))),
    );
  });

  test("a cluster leaves: the other one keeps its own endpoints", async () => {
    const printed = await user.paste(
      "kubectl clusterset leave cluster-2 --context cluster-1 --yes",
    );
    assert.match(printed, /^no other cluster uses endpoints of cluster-2$/m);
    assert.deepEqual(await answers(5), ["cluster-1"]);
  });

  test("when both have left, no object and no rule of ours is in either", async () => {
    await user.paste("kubectl clusterset leave cluster-1 --yes");
    for (const id of CLUSTERS) assert.deepEqual(await tracesIn(clusters, id), [], id);
  });

  /** The clusters whose pods answer calls by name in cluster-1, sorted. No call may fail. */
  async function answers(count: number): Promise<string[]> {
    const printed = await user.paste(`call --count ${count}`);
    const names = [...printed.matchAll(/"name":"([^"/]+)\//g)].map(([, name = ""]) => name);
    assert.equal(names.length, count, printed);
    return [...new Set(names)].sort();
  }
});
