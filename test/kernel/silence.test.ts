import { test } from "node:test";
import { BACKENDS } from "../backends.ts";
import { assertClusterDeath, assertNodeDeath } from "../silence/cluster-death.ts";

for (const backend of BACKENDS) {
  test(`when a cluster loses power, no connection is lost: ${backend.title}`, () =>
    assertClusterDeath(backend));

  test(`when a node loses power, no connection is lost: ${backend.title}`, () =>
    assertNodeDeath(backend));
}
