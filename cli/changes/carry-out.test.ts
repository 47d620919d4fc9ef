import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, FakeApiServer } from "../../test/doubles/fake-api-server.ts";
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
