import assert from "node:assert/strict";
import { test } from "node:test";
import { assertStorm } from "../support/connect-storm.ts";

/** As much as a machine bears that is emulated: with more, connections wait for programs, and not for rules. */
const LOAD = { clients: 4, rate: 25, inFlight: 4, timeout: 15_000, pause: 200 };

test("IPVS: 1500 connections during 100 endpoint changes, none failed or hung, and hardly one waited for a second SYN", async (t) => {
  const storm = { flags: ["--backend", "ipvs"], connections: 1_500, changes: 100, load: LOAD };
  const { connections, resent } = await assertStorm(t, storm);
  assert.ok(resent <= connections / 100, `${resent} SYNs were sent again`);
});
