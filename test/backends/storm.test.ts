import { test } from "node:test";
import { BACKENDS } from "../backends.ts";
import { assertStorm } from "../stages/connect-storm.ts";

for (const { title, flags, storm } of BACKENDS) {
  const what = `of ${storm.connections} connections during ${storm.changes} endpoint changes`;
  test(`${title}: ${what} none fails or hangs, and SYNs are not lost`, async (t) => {
    await assertStorm(t, { ...storm, flags });
  });
}
