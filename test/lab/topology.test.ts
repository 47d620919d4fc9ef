import assert from "node:assert/strict";
import { test } from "node:test";
import { type NodeSpec, topologyOf } from "./topology.ts";

const one = (...nodes: NodeSpec[]) => ({ clusters: [{ id: "c1", nodes }] });

test("No default address is the configured address of another pod", () => {
  const { nodes } = topologyOf(
    one({ name: "n1", pods: { a: [], b: [], web: ["10.1.0.11", "10.1.0.13"] } }),
  );
  const v4 = nodes[0]?.pods.map((pod) => texts(pod.addresses)[0]);
  assert.deepEqual(v4, ["10.1.0.12", "10.1.0.14", "10.1.0.11"]);
});

test("An invalid spec is rejected, and the message names the place and the value", () => {
  const refused = (nodes: NodeSpec[], message: RegExp) =>
    assert.throws(() => topologyOf(one(...nodes)), { message });
  refused([{ name: "n1" }, { name: "n1" }], /c1\/n1/);
  refused([{ name: "n_1" }], /"c1\/n_1": not a DNS label/);
  refused([{ name: "n1", pods: { "a/b": [] } }], /"c1\/n1\/a\/b": not a DNS label/);
  refused([{ name: "n1", pods: { a: ["10.1"] } }], /c1\/n1\/a: "10\.1": invalid-address/);
  refused(
    [{ name: "n1", pods: { a: ["10.1.0.1"] } }],
    /10\.1\.0\.1: .*gateway of c1\/n1.*c1\/n1\/a/,
  );
  refused([{ name: "n1", podCidrs: ["10.1.1.0/24"] }, { name: "n2" }], /10\.1\.1\.0\/24: overlaps/);
  refused([{ name: "n1", podCidrs: ["10.1.1.0/33"] }], /"10\.1\.1\.0\/33": invalid-cidr/);
  refused([{ name: "n1", podCidrs: ["10.1.1.16/28"] }], /10\.1\.1\.16\/28 does not hold/);
});

function texts(list: readonly { readonly text: string }[] = []): string[] {
  return list.map(({ text }) => text);
}
