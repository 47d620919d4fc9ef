import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect as connectTcp } from "node:net";
import { test } from "node:test";
import { FakeApiServer } from "../../test/support/fake-api-server.ts";
import { logLines } from "../../test/support/log-lines.ts";
import { connect } from "./connect.ts";

/** What is answered to one request by whom the fake server's kubeconfig leads to, once `edit` has been at it. */
async function answered(
  fake: FakeApiServer,
  edit: (kubeconfig: string) => string,
): Promise<string> {
  writeFileSync(fake.kubeconfig, edit(readFileSync(fake.kubeconfig, "utf8")));
  const api = await connect({ kubeconfig: fake.kubeconfig, ...logLines() });
  const { signal } = new AbortController();
  try {
    const { body } = await api.request({ path: "/x", signal, silence: 10_000 });
    const parts: Uint8Array[] = [];
    for await (const part of body) parts.push(part);
    return Buffer.concat(parts).toString();
  } finally {
    await api.close();
  }
}

test("a server may have an address of IPv6, and a path", async () => {
  await using fake = await FakeApiServer.start();
  const server = createServer((request, response) => response.end(`${request.url} here`));
  await once(server.listen(0, "::1"), "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://[::1]:${port}/clusters/c1/`;
  assert.equal(
    await answered(fake, (text) => text.replace(/http:[^"]*/, url)),
    "/clusters/c1/x here",
  );
  server.close();
});

test("where the kubeconfig names a proxy, the server is asked through it", async () => {
  await using fake = await FakeApiServer.start();
  const proxied: string[] = [];
  const proxy = createServer().on("connect", (request, client) => {
    proxied.push(request.url ?? "");
    const server = connectTcp(fake.port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(server).pipe(client);
    });
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  const { port } = proxy.address() as AddressInfo;
  fake.answers.push((_, response) => response.end("from behind"));
  const named = `"proxy-url":"http://127.0.0.1:${port}","server":"http://api.invalid:${fake.port}"`;
  assert.equal(
    await answered(fake, (text) => text.replace(/"server":"[^"]*"/, named)),
    "from behind",
  );
  assert.deepEqual(proxied, [`api.invalid:${fake.port}`]);
  proxy.closeAllConnections();
  proxy.close();
});
