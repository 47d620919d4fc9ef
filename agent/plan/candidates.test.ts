import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tiersOf } from "../../api/tiers/tiers.ts";
import { importFact, nodeFact, sliceFact } from "../../test/generators/facts.ts";
import type { EndpointFact, NodeFact, SliceFact } from "../model/facts.ts";
import { NO_SILENCE } from "../model/silence.ts";
import { candidatesOf } from "./candidates.ts";
import { importerOf } from "./origin.ts";

const HTTP = { name: "http", protocol: "TCP", port: 80 } as const;

function candidates(slices: readonly SliceFact[], node: NodeFact = nodeFact(), port = HTTP) {
  return candidatesOf(port, slices, tiersOf({}, importerOf(node)), node);
}

/** Where one endpoint runs, seen from node n1 of c1 in eu-west, zone eu-west-a, pods in 10.1.0.0/16. */
function place(slice: Partial<SliceFact>, endpoint: Partial<EndpointFact>, node?: NodeFact) {
  const whole = { address: "10.9.0.1", condition: "ready", ...endpoint } as const;
  const [candidate] = candidates([sliceFact({ ...slice, endpoints: [whole] })], node).candidates;
  assert.ok(candidate);
  const { onThisNode, inThisZone } = candidate;
  return { onThisNode, inThisZone };
}

const NOWHERE = { onThisNode: false, inThisZone: false };

describe("what does not answer", () => {
  const DNS = { name: "dns", protocol: "UDP", port: 53 } as const;
  const WEB = { name: "http", protocol: "TCP", port: 8080 } as const;
  const silent = (port: number, ...ports: SliceFact["ports"]) => {
    const of = {
      ...NO_SILENCE,
      endpoints: new Map([["10.2.0.1", new Map([[port, "shown"] as const])]]),
    };
    const slice = sliceFact({ cluster: "c2", ports });
    const node = nodeFact();
    const found = candidatesOf(DNS, [slice], tiersOf({}, importerOf(node)), node, {
      of,
      to: importFact(),
    });
    return found.candidates[0]?.silent;
  };

  test("UDP follows TCP ports that its slice lists, not those that slices of others list for the address", () => {
    assert.equal(silent(8080, DNS, WEB), "shown");
    assert.equal(silent(9999, DNS, WEB), undefined);
    assert.equal(silent(53, DNS), undefined);
  });
});

describe("an endpoint is on this node", () => {
  test("not if another cluster has a node of the same name", () => {
    assert.deepEqual(place({ cluster: "c2" }, { nodeName: "n1" }), NOWHERE);
    assert.deepEqual(place({}, { nodeName: "n1" }), NOWHERE);
    const { cluster: _, ...rest } = nodeFact();
    assert.deepEqual(place({}, { nodeName: "n1" }, rest), NOWHERE);
  });
});

describe("an endpoint is in this zone", () => {
  const zone = "eu-west-a";
  test("if the zone has the same name in the same region", () => {
    assert.equal(place({ cluster: "c2", region: "eu-west" }, { zone }).inThisZone, true);
    assert.equal(place({ cluster: "c1" }, { zone }).inThisZone, true);
    assert.equal(place({ cluster: "c1", region: "elsewhere" }, { zone }).inThisZone, true);
  });
  test("not in another region, nor where the region is not known", () => {
    assert.equal(place({ cluster: "c2", region: "us-east" }, { zone }).inThisZone, false);
    assert.equal(place({ cluster: "c2" }, { zone }).inThisZone, false);
    assert.equal(place({ region: "eu-west" }, { zone }).inThisZone, false);
  });
  test("not if neither of them has a zone", () => {
    const { zone: _, ...rest } = nodeFact();
    assert.equal(place({ cluster: "c1" }, {}, rest).inThisZone, false);
    assert.equal(place({ cluster: "c1" }, { zone }, rest).inThisZone, false);
  });
});
