import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ANNOTATION_DRAIN } from "../../api/keys.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import { eventually } from "../stages/agent-process.ts";
import { CommandLine } from "../stages/command-line.ts";
import type { ApiReference } from "./api-client.ts";
import type { ControlPlane } from "./control-plane.ts";
import { ControllerStage, IMPORT } from "./controller-stage.ts";

const OWN_SIDE = {
  apiVersion: "about.k8s.io/v1beta1",
  kind: "ClusterProperty",
  metadata: { name: "cluster.clusterset.k8s.io" },
};
const PEER = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace: "clusterset-proxy", name: "peer-c2" },
};

let mesh: ControllerStage;
let user: CommandLine;
before(async () => {
  mesh = await ControllerStage.open({ clusters: ["c1", "c2"] });
  await mesh.start();
  const [c1, c2] = [mesh.cluster("c1"), mesh.cluster("c2")];
  for (const { plane } of [c1, c2])
    await eventually(async () => assert.ok(await plane.admin.find(OWN_SIDE)), 30_000);
  await c1.namespace("shop");
  await c2.serve("shop/web", ["10.2.0.7"]);
  await c2.export("shop/web");
  await c1.untilImported("shop/web", ["10.2.0.7"]);
  user = new CommandLine({
    one: c1.plane.inlineKubeconfig({ user: "admin" }),
    two: c2.plane.inlineKubeconfig({ user: "admin" }),
  });
});
after(async () => {
  user?.[Symbol.dispose]();
  await mesh?.[Symbol.asyncDispose]();
});

async function stated({ admin }: ControlPlane, object: ApiReference): Promise<unknown> {
  return fieldAt(await admin.find(object), "metadata", "annotations", ANNOTATION_DRAIN);
}

async function messageOfImport(): Promise<string> {
  const found = await mesh.cluster("c1").find(IMPORT, "shop/web");
  const conditions = fieldAt(found, "status", "conditions") as { type: string; message: string }[];
  return conditions.find(({ type }) => type === "Ready")?.message ?? "";
}

test("drain states the drain on the cluster itself if a context is its own, and undrain takes it back", async () => {
  const [c1, c2] = [mesh.cluster("c1").plane, mesh.cluster("c2").plane];
  const drained = await user.run(
    ...["drain", "c2", "--for", "2h", "--reason", "kernel upgrade", "--context", "one,two"],
  );
  assert.equal(drained.code, 0, drained.note);
  assert.match(
    drained.out,
    /^two: clusterproperty\/cluster\.clusterset\.k8s\.io drained, effective in all clusters\ncluster c2 is drained until \S+Z\n$/,
  );
  assert.equal(await stated(c1, PEER), undefined);
  await eventually(async () =>
    assert.match(await messageOfImport(), / Drained: c2 until \S+Z by ann \(kernel upgrade\)\.$/),
  );
  const undrained = await user.run("undrain", "c2", "--context", "one,two");
  assert.equal(undrained.code, 0, undrained.note);
  assert.equal(await stated(c2, OWN_SIDE), undefined);
});

test("of importing clusters that are named, drain concerns these; without a name, the whole clusterset", async () => {
  const { plane } = mesh.cluster("c1");
  const one = ["--context", "one"];
  const { code, out } = await user.run("drain", "c2", "--for", "1h", ...one);
  assert.equal(code, 0);
  assert.match(out, /^one: secret\/peer-c2 drained, effective in this importing cluster only\n/);
  assert.match(String(await stated(plane, PEER)), /for=3600s; by=ann$/);
  assert.equal((await user.run("undrain", "c2", ...one)).code, 0);
  assert.equal(await stated(plane, PEER), undefined);
  const none = await user.run("undrain", "c2", ...one);
  assert.equal(none.out, "no drain of cluster c2 is stated in one\n");
  const all = await user.run("drain", "c2", "--for", "1h");
  assert.match(all.out, /^two: clusterproperty\/\S+ drained, effective in all clusters\n/);
  assert.equal((await user.run("undrain", "c2")).code, 0);
});

test("with a hub, drain annotates the namespace of the cluster's registry there", async () => {
  await using stage = await ControllerStage.open({ clusters: ["c1"], registry: "hub" });
  using operator = new CommandLine({ hub: stage.hub.inlineKubeconfig({ user: "admin" }) });
  const { code, out } = await operator.run("drain", "c1", "--for", "30m");
  assert.equal(code, 0);
  const namespace = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: registryNamespace("c1") },
  };
  assert.match(out, /^hub: namespace\/\S+ drained, effective in all clusters of the hub\n/);
  assert.match(String(await stated(stage.hub, namespace)), /for=1800s/);
});

test("a dry run changes nothing, and an unknown cluster or an invalid length is an error that names it", async () => {
  const dry = await user.run("drain", "c2", "--for", "1h", "--dry-run");
  assert.match(dry.out, /\(dry run\)\n/);
  assert.equal(await stated(mesh.cluster("c1").plane, PEER), undefined);
  const unknown = await user.run("drain", "c9", "--for", "1h");
  assert.equal(unknown.code, 1);
  assert.match(unknown.note, /^No context is cluster c9/);
  for (const length of ["2", "31d", "-1h", "1h30m"]) {
    const wrong = await user.run("drain", "c2", `--for=${length}`);
    assert.equal(wrong.code, 2);
    assert.match(wrong.note, new RegExp(`'${length}' is invalid`));
  }
});
