import assert from "node:assert/strict";
import { test } from "node:test";
import { restricted } from "../../common/kubernetes/inline-kubeconfig.ts";
import { accessIn, isSameAccess, kubeconfigOf } from "./registry-access.ts";

const ACCESS = { server: "https://10.0.0.1:6443", token: "secret", ca: "Q0E=" };

test("a controller accepts the kubeconfig, and it is read back as it was written", () => {
  const text = kubeconfigOf(ACCESS);
  assert.match(restricted({ text, from: "test" }), /10\.0\.0\.1:6443.*secret/);
  assert.deepEqual(accessIn(text), ACCESS);
});

test("access is the same in another spelling, but not with another address or token", () => {
  assert.ok(isSameAccess(ACCESS, accessIn(JSON.stringify(accessDocument()))));
  assert.ok(!isSameAccess({ ...ACCESS, server: "https://10.0.0.2:6443" }, ACCESS));
  assert.ok(!isSameAccess({ ...ACCESS, token: "another" }, ACCESS));
  assert.ok(!isSameAccess(ACCESS, accessIn("not: a kubeconfig")));
});

function accessDocument() {
  const { server, token } = ACCESS;
  return {
    clusters: [{ name: "a", cluster: { server } }],
    users: [{ name: "a", user: { token } }],
  };
}
