import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../../test/generators/facts.ts";
import { virtualService } from "../../../test/generators/services.ts";
import { finished } from "../backend.ts";
import { IpvsBackend } from "./backend.ts";
import { diffGarbage } from "./diff.ts";
import { type KernelState, nothing } from "./state.ts";

const OPTIONS = {
  family: "IPv4",
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  masquerade: { mode: "none", podCidrs: [] },
  scheduler: "rr",
} as const;
/** Rules that keep iptables' DNAT and kube-proxy's NodePorts from translating VIPs. */
const BOUND = /dnat to ip daddr/;

/** One pass on a kernel in this state: the transaction, and the state after it. */
function sync(backend: IpvsBackend, state: KernelState) {
  const ruleset = backend.ruleset();
  ruleset.set("demo/serve", [virtualService()]);
  const tx = finished(backend.diff(state, finished(ruleset.take())));
  tx.settle(state);
  return { tx: String(tx), state };
}

describe("a node with rules of another backend", () => {
  test("lets these translate VIPs until they are removed", () => {
    const backend = new IpvsBackend(OPTIONS);
    const { tx, state } = sync(backend, { ...nothing(), shared: true });
    assert.doesNotMatch(tx, BOUND);
    assert.equal(sync(backend, state).tx, "");
    const bound = diffGarbage(state, [], new Map(), true, OPTIONS);
    assert.match(String(bound), BOUND);
    // What is served stays served: the table is written as a whole.
    assert.match(String(bound), /add element ip csp-ipvs served \{ 241\.0\.0\.10 \. tcp \. 80/);
    assert.doesNotMatch(String(bound), /delete element/);
    bound.settle(state);
    assert.equal(state.shared, false);
    assert.equal(sync(backend, state).tx, "");
  });
});
