import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { importObject } from "../generators/objects.ts";
import { ApiClient } from "./api-client.ts";
import { ControlPlane } from "./control-plane.ts";

let plane: ControlPlane;
before(async () => {
  plane = await ControlPlane.start({ users: ["agent"] });
  await plane.installCrds();
});
after(() => plane.remove());

const CONFIG_MAPS = { apiVersion: "v1", kind: "ConfigMap" };
const PATH = "/api/v1/namespaces/default/configmaps";

/** Writes a ConfigMap in the namespace `default`. */
function write(name: string, data: Record<string, string> = {}) {
  return plane.admin.apply({ ...CONFIG_MAPS, metadata: { namespace: "default", name }, data });
}

test("A stopped API server rejects connections; after its start it has its data and its address", async () => {
  const url = plane.url;
  await plane.admin.create(importObject("default/kept", ["10.99.0.1"], [{ port: 80 }]));
  const watch = plane.admin.watch(CONFIG_MAPS);
  await write("before-stop");
  await watch.next();
  await plane.stop();
  for await (const event of watch) assert.notEqual(event.type, "DELETED");
  await assert.rejects(plane.admin.request("GET", "/readyz"), /ECONNREFUSED/);
  await plane.start();
  assert.equal(plane.url, url);
  const found = await plane.admin.list({
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
  });
  assert.deepEqual(
    found.map(({ metadata }) => metadata.name),
    ["kept"],
  );
});

test("A killed API server breaks its connections", async () => {
  const watch = plane.admin.watch(CONFIG_MAPS);
  await write("before-kill");
  await watch.next();
  await plane.kill();
  await assert.rejects(async () => {
    for await (const _ of watch);
  });
  await assert.rejects(plane.admin.request("GET", "/readyz"), /ECONNREFUSED/);
  await plane.start();
});

test("A stopped process of an API server accepts connections and does not respond until SIGCONT", async () => {
  plane.freeze();
  const { port, hostname } = new URL(plane.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.destroy();
  await assert.rejects(plane.admin.request("GET", "/readyz", { timeout: 300 }), /timeout/);
  await using fresh = plane.client("admin");
  await assert.rejects(fresh.request("GET", "/readyz", { timeout: 300 }), /timeout/);
  const asked = plane.admin.request("GET", "/readyz");
  plane.thaw();
  assert.equal((await asked).status, 200);
});

test("After a compaction, watches and continued lists of older resourceVersions return 410", async () => {
  for (const name of ["page-1", "page-2", "page-3"]) await write(name);
  const first = (await plane.admin.request("GET", PATH, { query: { limit: "1" } })).body;
  const { resourceVersion, continue: token } = (first as { metadata: Record<string, string> })
    .metadata;
  const query = { limit: "1", continue: token ?? "" };
  const watchQuery = { resourceVersion: resourceVersion ?? "" };
  assert.equal((await plane.admin.request("GET", PATH, { query })).status, 200);

  await plane.compact();

  const { status, body } = await plane.admin.request("GET", PATH, { query });
  assert.equal(status, 410);
  assert.equal((body as { reason?: unknown }).reason, "Expired");
  for await (const { type, object } of plane.admin.watch(CONFIG_MAPS, watchQuery)) {
    assert.deepEqual([type, object.code], ["ERROR", 410]);
  }
  assert.equal((await plane.admin.request("GET", PATH)).status, 200);
});

test("A rotated token is rejected; the new one is in the next kubeconfig", async () => {
  const path = plane.kubeconfig({ user: "agent" });
  const old = tokenOf(path);
  assert.equal(await statusWith(path, old), 200);
  await plane.rotateToken("agent");
  assert.equal(tokenOf(path), old);
  assert.equal(await statusWith(path, old), 401);
  assert.equal(plane.kubeconfig({ user: "agent" }), path);
  assert.equal(await statusWith(path, tokenOf(path)), 200);
});

interface Kubeconfig {
  readonly clusters: [{ cluster: { server: string; "certificate-authority": string } }];
  readonly users: [{ user: { token: string; tokenFile: string } }];
}

function readKubeconfig(path: string): Kubeconfig {
  return JSON.parse(readFileSync(path, "utf8")) as Kubeconfig;
}

/** The token that a kubeconfig has, which is the one in the file that it names. */
function tokenOf(path: string): string {
  const [{ user }] = readKubeconfig(path).users;
  assert.equal(readFileSync(user.tokenFile, "utf8"), user.token);
  return user.token;
}

/** The response to a client that has only a kubeconfig and this token. */
async function statusWith(path: string, token: string): Promise<number> {
  const [{ cluster }] = readKubeconfig(path).clusters;
  const { port, hostname } = new URL(cluster.server);
  await using client = new ApiClient({
    url: cluster.server,
    connect: () => Promise.resolve(connect(Number(port), hostname)),
    caFile: cluster["certificate-authority"],
    token: () => token,
  });
  return (await client.request("GET", "/api")).status;
}
