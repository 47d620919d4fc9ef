import assert from "node:assert/strict";
import { test } from "node:test";
import { namesSupport } from "./core-dns-version.ts";

const IMAGES = [
  ["registry.k8s.io/coredns/coredns:v1.12.1", "no"],
  ["registry.k8s.io/coredns/coredns:v1.12.2", "yes"],
  ["602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/coredns:v1.11.4-eksbuild.2", "no"],
  ["rancher/mirrored-coredns-coredns:1.14.0", "yes"],
  ["registry:5000/coredns:1.9.3@sha256:0123", "no"],
  ["coredns/coredns:2.0.0", "yes"],
  ["registry:5000/coredns@sha256:0123", "unknown"],
  ["registry:5000/coredns", "unknown"],
  ["lab.local/coredns:1", "unknown"],
  ["", "unknown"],
] as const;

test("the tag of an image says whether CoreDNS serves clusterset.local; other tags and digests say nothing", () => {
  for (const [image, wanted] of IMAGES) assert.equal(namesSupport(image), wanted, image);
});
