import { test } from "node:test";
import { assertStorm } from "../support/connect-storm.ts";

// Emulated: a fiftieth of what the machine itself makes in the time.
const STORM = { flags: ["--backend", "ipvs"], connections: 2_000, changes: 50 };

test(`IPVS: ${STORM.connections} connections during ${STORM.changes} endpoint changes, none failed or hung`, (t) =>
  assertStorm(t, STORM));
