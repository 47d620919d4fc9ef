import assert from "node:assert/strict";
import { test } from "node:test";
import { environmentProxy } from "./environment-proxy.ts";

const SERVER = "https://api.c1.example.com:6443";

test("variables in upper and lower case, for each scheme, with or without a scheme of the proxy", () => {
  assert.equal(environmentProxy(SERVER, {}), undefined);
  assert.equal(environmentProxy(SERVER, { HTTPS_PROXY: "http://p:3128" }), "http://p:3128");
  assert.equal(environmentProxy(SERVER, { https_proxy: "p:3128" }), "http://p:3128");
  assert.equal(environmentProxy(SERVER, { HTTP_PROXY: "http://p:3128" }), undefined);
  assert.equal(environmentProxy("http://a:80", { HTTP_PROXY: "socks5://p:1" }), "socks5://p:1");
});

test("NO_PROXY: names and names below them, addresses, ranges, ports; this machine is never behind a proxy", () => {
  const isDirect = (server: string, NO_PROXY: string) =>
    environmentProxy(server, { HTTPS_PROXY: "http://p:3128", NO_PROXY }) === undefined;
  for (const [server, excluded] of [
    [SERVER, "*"],
    [SERVER, "other, example.com"],
    [SERVER, ".example.com"],
    [SERVER, "*.example.com"],
    [SERVER, "api.c1.example.com:6443"],
    ["https://10.1.2.3:6443", "10.0.0.0/8"],
    ["https://10.1.2.3", "10.1.2.3"],
    ["https://[fd00::1]:6443", "fd00::/8"],
    ["https://[fd00::1]:6443", "[fd00::1]:6443"],
    ["https://127.0.0.1:6443", ""],
    ["https://localhost:6443", ""],
    ["https://[::1]:6443", ""],
  ] as const)
    assert.ok(isDirect(server, excluded), `${server} ${excluded}`);
  for (const [server, excluded] of [
    [SERVER, "ample.com"],
    ["https://example.com", ".example.com"],
    [SERVER, "api.c1.example.com:443"],
    ["https://10.1.2.3:6443", "11.0.0.0/8,10.1.2.4"],
    ["https://[fd00::1]:6443", "fd00::2"],
  ] as const)
    assert.ok(!isDirect(server, excluded), `${server} ${excluded}`);
});
