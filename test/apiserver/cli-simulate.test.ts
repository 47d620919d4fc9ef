import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { importObject, sliceObject } from "../generators/objects.ts";
import { CommandLine } from "../stages/command-line.ts";
import { ControlPlane } from "./control-plane.ts";

const AGENT = fileURLToPath(new URL("../../bin/clusterset-agent", import.meta.url));
const PORTS = [{ name: "http", port: 80, protocol: "TCP" }];
const EU = { "topology.kubernetes.io/region": "eu" };

let plane: ControlPlane;
let user: CommandLine;
before(async () => {
  plane = await ControlPlane.start({ users: ["agent"] });
  await plane.installCrds();
  const { admin } = plane;
  for (const name of ["shop", "clusterset-proxy"])
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  await admin.apply({ apiVersion: "v1", kind: "Node", metadata: { name: "n1", labels: EU } });
  await admin.apply({
    apiVersion: "about.k8s.io/v1beta1",
    kind: "ClusterProperty",
    metadata: { name: "cluster.clusterset.k8s.io" },
    spec: { value: "c1" },
  });
  await admin.apply(importObject("shop/web", ["241.0.0.1"], PORTS));
  await slice("c1", ["10.1.0.1", "10.1.0.2"]);
  await slice("c2", ["10.2.0.1"]);
  user = new CommandLine({ c1: plane.inlineKubeconfig({ user: "admin" }) });
});
after(async () => {
  user?.[Symbol.dispose]();
  await plane?.remove();
});

function slice(cluster: string, addresses: readonly (string | object)[]): Promise<unknown> {
  const origin = { cluster, region: "eu" };
  return plane.admin.apply(sliceObject(`web-${cluster}`, "shop/web", origin, PORTS, addresses));
}

interface Simulated {
  readonly contexts: readonly {
    readonly ports: readonly { readonly before: object; readonly after: object }[];
  }[];
}

async function simulated(...argv: readonly string[]): Promise<readonly unknown[]> {
  const { out, note } = await user.run("simulate", "--all", "-o", "json", ...argv);
  assert.notEqual(out, "", note);
  const [port] = (JSON.parse(out) as Simulated).contexts[0]?.ports ?? [];
  return [port?.before, port?.after];
}

/** The tier, reason and endpoints of the agent's own `plan`. */
async function planned() {
  const { stdout } = await promisify(execFile)(AGENT, [
    ...[
      "plan",
      "--kubeconfig",
      plane.kubeconfig({ user: "admin" }),
      "--node-name",
      "n1",
      "-o",
      "json",
    ],
  ]);
  const { services } = (
    JSON.parse(stdout) as {
      imports: { services: { tier: string; reason: string; endpoints: unknown[] }[] }[];
    }
  ).imports[0] ?? { services: [] };
  const [{ tier, reason, endpoints } = { tier: "", reason: "", endpoints: [] }] = services;
  return { tier, reason, endpoints: endpoints.length };
}

test("what is simulated is what agents plan once it has happened", async () => {
  const [today, then] = await simulated("--scale", "shop/web@c1=0");
  const { clusters: ofToday, ...before } = today as { clusters: object };
  assert.deepEqual(before, await planned());
  assert.deepEqual(ofToday, { c1: 1 });
  const { clusters, ...predicted } = then as { clusters: object };
  assert.deepEqual(clusters, { c2: 1 });
  await slice("c1", []);
  assert.deepEqual(predicted, await planned());
  assert.deepEqual((await simulated())[0], then);
  await slice("c1", ["10.1.0.1", "10.1.0.2"]);
});

test("a manifest is simulated as kubectl apply would apply it, and nothing is written", async () => {
  const versions = async () => {
    const found = await plane.admin.find(importObject("shop/web", [], []) as never);
    return found?.metadata.resourceVersion;
  };
  const version = await versions();
  const file = user.file(
    "web.yaml",
    `
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceImport
metadata:
  name: web
  namespace: shop
  annotations: { "clusterset-proxy.io/cluster-selectors": '[{"propertySelector":{"matchProperties":{"cluster.clusterset.k8s.io":"c2"}}}]' }
`,
  );
  const { code, out, note } = await user.run("simulate", "-f", file);
  assert.equal(code, 0, note);
  assert.match(out, /shop\/web:http {3}local c1 \(2\) {3}selector-1 c2 \(1\)\n/);
  assert.equal(await versions(), version);
});

test("the exit code is 4 if connections were rejected, and an unknown cluster, import or field is an error that names it", async () => {
  const gone = await user.run("simulate", "--without", "c1", "--without", "c2");
  assert.equal(gone.code, 4);
  assert.match(gone.out, /rejected \(no-endpoint\)/);
  assert.equal((await user.run("simulate", "--drain", "c1", "--without", "c2")).code, 3);
  const cluster = await user.run("simulate", "--without", "c9");
  assert.deepEqual(
    [cluster.code, cluster.note],
    [1, "error: c1: no slice is of cluster c9; there are c1, c2\n"],
  );
  const missing = await user.run("simulate", "shop/none");
  assert.deepEqual([missing.code, missing.note], [1, "error: c1: no ServiceImport shop/none\n"]);
  const wrong = user.file(
    "wrong.yaml",
    "{kind: ServiceImport, metadata: {name: web, namespace: shop}, spec: {ports: 7}}",
  );
  const invalid = await user.run("simulate", "-f", wrong);
  assert.equal(invalid.code, 1);
  assert.match(invalid.note, /ServiceImport shop\/web.*spec\.ports.*7/);
  assert.equal((await user.run("simulate", "a/b/c")).code, 2);
  assert.equal((await user.run("simulate", "--scale", "web=0")).code, 2);
});
