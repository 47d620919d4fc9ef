import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";

/** What a program takes besides, and some garbage. */
const REST_MEGABYTES = 40;

/** `most`: the limit, in megabytes; without it, a shape takes twice as much and more. `keeps`: objects that stay known. */
const SHAPES = [
  ["agent", "a thousand ports each", { imports: 1500, ports: 1000, characters: 0 }, 67, undefined],
  [
    "controller",
    "a spec of 64 kB each",
    { imports: 5000, ports: 1, characters: 64_000 },
    134,
    5000,
  ],
] as const;

for (const [program, what, shape, most, keeps] of SHAPES) {
  test(`${shape.imports} imports of one namespace, ${what}, take little memory of the ${program}`, async (t) => {
    const path = join(import.meta.dirname, "limited-stores.ts");
    const child = fork(path, [program, JSON.stringify(shape)], { execArgv: ["--expose-gc"] });
    t.after(() => child.kill("SIGKILL"));
    const [{ megabytes, kept }] = await once(child, "message");
    t.diagnostic(`${megabytes} MB, ${kept} kept`);
    assert.ok(megabytes < most + REST_MEGABYTES, `${megabytes} MB`);
    assert.ok(kept > 0 && (keeps === undefined || kept === keeps), `${kept} kept`);
  });
}
