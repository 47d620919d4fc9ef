import assert from "node:assert/strict";
import { test } from "node:test";
import { findingsOf } from "./findings.ts";
import type { Member } from "./members.ts";

/** A cluster that may join, with this image of CoreDNS. */
function member(coreDns?: string): Member {
  return {
    ...{ id: "c1", context: "c1", endpointCidrs: "10.1.0.0/16", rangesFrom: "given" },
    ...{ server: "https://c1.example:6443", components: [] },
    facts: {
      ...{ context: "c1", address: "https://c1.example:6443", minor: 33, uid: "1" },
      ...{ nodeRegions: [], podCidrs: [], serviceCidrs: [], images: {}, components: [], peers: [] },
      ...(coreDns !== undefined && { coreDns }),
    },
  };
}

function found(coreDns: string | undefined, dns = true) {
  const set = { id: "prod", mode: "mesh", hub: undefined, clustersetCidrs: [] } as const;
  return findingsOf({ ...set, members: [member(coreDns)], manifests: true, dns });
}

test("a CoreDNS that would not start with clusterset.local stops a join before anything is written, unless it is left alone", () => {
  const { faults } = found("eks/coredns:v1.11.4-eksbuild.2");
  assert.match(faults.join(), /^c1: eks\/coredns:v1\.11\.4-eksbuild\.2 .*1\.12\.2.*--no-dns/);
  assert.deepEqual(found("eks/coredns:v1.11.4-eksbuild.2", false), { faults: [], warnings: [] });
  for (const one of ["coredns:1.12.2", undefined]) {
    assert.deepEqual(found(one), { faults: [], warnings: [] });
  }
});

test("a version that an image does not show is a warning", () => {
  const { faults, warnings } = found("registry:5000/dns@sha256:0123");
  assert.deepEqual(faults, []);
  assert.match(warnings.join(), /^c1: the version of registry:5000\/dns@sha256:0123 is not known/);
});
