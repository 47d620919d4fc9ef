import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { virtualService } from "../../../test/support/services.ts";
import { cidr } from "../../../test/support/worlds.ts";
import { IpvsBackend } from "./ipvs.ts";
import { nothing } from "./state.ts";

const OPTIONS = {
  family: "IPv4",
  clusterSetCidr: cidr("241.0.0.0/8"),
  masquerade: { mode: "none", podCidrs: [] },
  scheduler: "rr",
  takesOver: true,
} as const;
/** What keeps others from translating VIPs: iptables' DNAT, and kube-proxy's NodePorts. */
const BOUND = /dnat to ip daddr/;

/** What this backend does on a kernel that is believed to be so, once it is done; and what a tidying does then. */
function sync(backend: IpvsBackend, believed = nothing()) {
  const ruleset = backend.ruleset();
  ruleset.set("demo/serve", [virtualService()]);
  const tx = backend.diff(believed, ruleset.take());
  tx.settle(believed);
  return { tx: String(tx), believed };
}

describe("a node that another backend may have had", () => {
  test("lets that translate VIPs until it is said to be gone", () => {
    const backend = new IpvsBackend(OPTIONS);
    const { tx, believed } = sync(backend);
    assert.doesNotMatch(tx, BOUND);
    assert.equal(sync(backend, believed).tx, "");
    backend.alone();
    const bound = sync(backend, believed);
    assert.match(bound.tx, BOUND);
    // What is served stays served: the table is written as a whole.
    assert.match(bound.tx, /add element ip csp-ipvs served \{ 241\.0\.0\.10 \. tcp \. 80/);
    assert.doesNotMatch(bound.tx, /delete element/);
  });

  test("is left as it is by the next process, which finds it bound", () => {
    const { believed } = sync(new IpvsBackend({ ...OPTIONS, takesOver: false }));
    assert.equal(sync(new IpvsBackend(OPTIONS), believed).tx, "");
  });
});
