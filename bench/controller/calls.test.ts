import assert from "node:assert/strict";
import { test } from "node:test";
import {
  callsIn,
  callsSince,
  callsText,
  resourceOf,
  restlessOf,
  sumOf,
  writesOf,
} from "./calls.ts";

const SLICES = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
const LEASE = "/apis/coordination.k8s.io/v1/namespaces/x/leases/cluster";

const ASKED = [
  { verb: "patch", uri: LEASE, code: 200 },
  { verb: "patch", uri: `${SLICES}/web-1?fieldManager=c&force=true`, code: 200 },
  { verb: "patch", uri: `${SLICES}/web-2?fieldManager=c&force=true`, code: 409 },
  { verb: "get", uri: `${SLICES}/web-2`, code: 200 },
  { verb: "watch", uri: `${SLICES}?watch=true`, code: 200 },
];

test("the resource of a path is found with any group, namespace, name and query", () => {
  const of = {
    [`${SLICES}/web-1?force=true`]: "endpointslices",
    "/api/v1/namespaces/shop/services": "services",
    "/api/v1/namespaces/shop": "namespaces",
    "/api/v1/namespaces?watch=true": "namespaces",
    "/apis/multicluster.x-k8s.io/v1beta1/namespaces/shop/serviceimports/web/status?force=true":
      "serviceimports/status",
    "/apis/multicluster.x-k8s.io/v1beta1/serviceimports?limit=500": "serviceimports",
  };
  for (const [uri, resource] of Object.entries(of)) assert.equal(resourceOf(uri), resource);
});

test("requests are counted by verb and resource, also rejected ones, and reported by purpose", () => {
  const calls = callsIn(ASKED);
  assert.equal(
    callsText(calls, 2),
    "1 patch endpointslices, 0.5 patch leases, 0.5 get endpointslices, 0.5 watch endpointslices",
  );
  assert.equal(callsText(writesOf(calls)), "2 patch endpointslices");
  assert.equal(callsText(new Map()), "nothing");
});

test("an idle controller may only send requests for watches and Leases", () => {
  assert.equal(sumOf(restlessOf(callsIn(ASKED))), 3);
  const quiet = ASKED.filter(({ verb, uri }) => verb === "watch" || uri === LEASE);
  assert.equal(sumOf(restlessOf(callsIn(quiet))), 0);
});

test("the difference of two counts has only the requests in between", () => {
  const before = callsIn(ASKED.slice(0, 2));
  assert.equal(
    callsText(callsSince(before, callsIn(ASKED))),
    "1 patch endpointslices, 1 get endpointslices, 1 watch endpointslices",
  );
  assert.equal(sumOf(callsSince(before, before)), 0);
});
