import assert from "node:assert/strict";
import { test } from "node:test";
import { LABEL_PEER } from "../../api/keys.ts";
import { type Answer, FakeApiServer } from "../../test/doubles/fake-api-server.ts";
import { fakeProperties } from "../../test/doubles/fake-member.ts";
import { CommandLine } from "../../test/stages/command-line.ts";

const forbidden: Answer = (_, response) =>
  void response.writeHead(403).end('{"kind":"Status","message":"not you"}');

const service = (name: string) => ({ apiVersion: "v1", metadata: { namespace: "shop", name } });

test("export: a Service that may not be read does not keep the others from being exported", async () => {
  await using one = await FakeApiServer.start({
    objects: { services: [service("web"), service("cart")] },
    answerTo: ({ url = "" }) => (url.includes("/services/cart") ? forbidden : undefined),
  });
  using operator = new CommandLine({ one: one.inline });
  const { code, out, note } = await operator.run("export", "shop/cart", "shop/web");
  assert.equal(code, 1);
  assert.equal(out, "one: shop/serviceexport/web created\n");
  assert.match(note, /^error: one: \S+: shop\/service\/cart: .*HTTP 403.*\n$/);
});

test("export: a cluster that fails for all Services is named once", async () => {
  await using one = await FakeApiServer.start({
    answerTo: () => (_, response) => void response.writeHead(401).end(),
  });
  using operator = new CommandLine({ one: one.inline });
  const { code, note } = await operator.run("export", "shop/cart", "shop/web");
  assert.equal(code, 1);
  assert.equal(note.match(/^error: one: /gm)?.length, 1, note);
});

/** Member c1 that knows c2 and exports three Services. */
async function leaver(onRequest: (server: FakeApiServer) => void): Promise<FakeApiServer> {
  const apiVersion = "multicluster.x-k8s.io/v1beta1";
  const labels = { [LABEL_PEER]: "c2" };
  const peer = { apiVersion: "v1", metadata: { ...INSTALLED, name: "peer-c2", labels } };
  const server: FakeApiServer = await FakeApiServer.start({
    objects: {
      clusterproperties: fakeProperties({ "cluster.clusterset.k8s.io": "c1" }),
      namespaces: [{ apiVersion: "v1", metadata: { name: "kube-system" } }],
      secrets: [peer],
      serviceexports: ["web", "cart", "pay"].map((one) => ({ ...service(one), apiVersion })),
    },
    beforeAnswer: () => Promise.resolve(onRequest(server)),
  });
  return server;
}

const INSTALLED = { namespace: "clusterset-proxy" };

function deletions({ writes }: FakeApiServer): string[] {
  return writes.filter((write) => write.startsWith("DELETE"));
}

for (const argv of [
  ["unexport", "shop/web", "shop/cart", "shop/pay"],
  ["leave", "one", "--context", "one", "--absent", "c2", "--yes"],
])
  test(`${argv[0]}: Ctrl-C ends it before the next change`, async () => {
    const stop = new AbortController();
    await using one = await leaver((server) => {
      if (deletions(server).length > 0) stop.abort("SIGINT");
    });
    using operator = new CommandLine({ one: one.inline });
    const { code, out } = operator.start(argv, stop.signal);
    // main.ts reports 1 after SIGINT as 130.
    assert.equal(await code, 1);
    assert.equal(deletions(one).length, 1);
    assert.match(out(), /^one: shop\/serviceexport\/\w+ deleted\n$/m);
  });
