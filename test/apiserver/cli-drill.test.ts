import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fieldAt } from "../../api/parse/fields.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { CommandLine } from "../stages/command-line.ts";
import { ControlPlane } from "./control-plane.ts";

// What needs no kubelet; the drill itself is in test/e2e/drill.test.ts.

const PORTS = [{ name: "http", port: 80, protocol: "TCP" }];
const RECORD = "clusterset-proxy.io/drill-replicas";
const WEB = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { namespace: "shop", name: "web" },
};
const PODS = { apiVersion: "v1", kind: "Pod", metadata: { namespace: "shop" } };
const FLAGS = ["--yes", "--image", "caller:1", "--timeout", "2s", "--settle", "1s"];

let plane: ControlPlane;
let user: CommandLine;
before(async () => {
  plane = await ControlPlane.start({ controllerManager: { controllers: "serviceaccount" } });
  await plane.installCrds();
  const { admin } = plane;
  for (const name of ["shop", "clusterset-proxy"])
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  await admin.apply({
    apiVersion: "about.k8s.io/v1beta1",
    kind: "ClusterProperty",
    metadata: { name: "cluster.clusterset.k8s.io" },
    spec: { value: "c1" },
  });
  for (const name of ["web", "bare"]) {
    await admin.apply({
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace: "shop", name },
      spec: { selector: { app: name }, ports: [{ port: 80 }] },
    });
  }
  await admin.apply({
    ...WEB,
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "web", image: "web:1" }] },
      },
    },
  });
  await admin.apply(importObject("shop/web", ["241.0.0.1"], PORTS));
  await slice("c1");
  user = new CommandLine({ c1: plane.inlineKubeconfig({ user: "admin" }) });
});
after(async () => {
  user?.[Symbol.dispose]();
  await plane?.remove();
});

function slice(cluster: string): Promise<unknown> {
  return plane.admin.apply(sliceObject("web-1", "shop/web", { cluster }, PORTS, ["10.1.0.1"]));
}

async function replicas() {
  const live = await plane.admin.find(WEB);
  return [fieldAt(live, "spec", "replicas"), fieldAt(live, "metadata", "annotations", RECORD)];
}

test("a drill that cannot be done changes nothing and says why", async () => {
  const why = async (...argv: string[]) => {
    const { code, note } = await user.run("drill", ...argv, ...FLAGS);
    assert.equal(code, 1);
    return note;
  };
  assert.match(await why("shop/none"), /no Service shop\/none/);
  assert.match(await why("shop/bare"), /no Deployment or StatefulSet/);
  await slice("c2");
  assert.match(await why("shop/web"), /do not go to this cluster, but to global c2 \(1\)/);
  await slice("c1");
  assert.match(await why("shop/web", "--port", "81"), /no such TCP port/);
  assert.equal((await user.run("drill", "shop/web", "--rate", "1000")).code, 2);
  const asked = await user.run("drill", "shop/web", "--image", "caller:1");
  assert.deepEqual([asked.code, await replicas()], [1, [3, undefined]], "without a yes");
});

test("what an interrupted drill has left at nothing gets its replicas back, and a caller that does not start is deleted", async () => {
  await plane.admin.patch(WEB, {
    metadata: { annotations: { [RECORD]: "3" } },
    spec: { replicas: 0 },
  });
  const { code, note } = await user.run("drill", "shop/web", ...FLAGS);
  assert.equal(code, 1);
  assert.match(note, /scaling back what an interrupted drill has left/);
  assert.match(note, /pod shop\/clusterset-drill-\S+ is Pending \(after 2 s\)/);
  assert.deepEqual(await replicas(), [3, undefined]);
  assert.deepEqual(await plane.admin.list(PODS), []);
});
