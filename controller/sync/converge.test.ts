import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { Manifest } from "../model/manifest.ts";
import type { Seen } from "../stores/fact-store.ts";
import { converge } from "./converge.ts";

const HUNG = new ApiFault("webhook-failed", "Not answered within 7 seconds");
const UNFIT = new ApiFault("webhook-failed", "HTTP 500: add operation does not apply: /a", {
  status: 500,
});

function slice(name: string): Manifest {
  return { apiVersion: "v1", kind: "EndpointSlice", metadata: { namespace: "shop", name } };
}

/** Writes with these faults; `sent` has their names in order, and `most` how many were under way at once. */
function stage(faults: ReadonlyMap<string, ApiFault>) {
  const sent: string[] = [];
  const hung = new Set<string>();
  let now = 0;
  let most = 0;
  const send = async (key: string): Promise<boolean> => {
    sent.push(key.replace("shop/", ""));
    most = Math.max(most, ++now);
    await new Promise((resolve) => setImmediate(resolve));
    now--;
    const fault = faults.get(key.replace("shop/", ""));
    if (fault === HUNG) hung.add(key);
    if (fault !== undefined) throw fault;
    return true;
  };
  const applier = {
    apply: ({ metadata }: Manifest) => send(`shop/${metadata.name}`),
    remove: async ({ key }: Seen) => void (await send(key)),
    hangs: (key: string) => hung.has(key),
  };
  const run = (wanted: readonly string[], gone: readonly string[] = []) =>
    converge({
      applier,
      wanted: wanted.map(slice),
      gone: gone.map((name) => `shop/${name}`),
      seen: (key) => ({ key, uid: "u", resourceVersion: "1", content: "", status: "" }),
      mayGo: (_key, { failed }) => failed.length === 0,
    });
  return { sent, run, most: () => most };
}

const names = Array.from({ length: 200 }, (_, i) => `s${i}`);

test("a webhook that hangs takes the time of one write, however many there are; what is not tried counts as failed", async () => {
  const it = stage(new Map(names.map((name) => [name, HUNG])));
  const { faults, inPlace } = await it.run(names, ["old"]);
  assert.deepEqual([it.sent, inPlace], [["s0"], []]);
  assert.deepEqual([faults.length, faults[0]], [200, HUNG]);
});

test("what hung comes last, so that it holds up no other write", async () => {
  const it = stage(new Map([["s0", HUNG]]));
  await it.run(names);
  it.sent.length = 0;
  const { inPlace } = await it.run(names);
  assert.equal(inPlace.length, 199);
  assert.equal(it.sent.at(-1), "s0");
});

test("a webhook that fails at once holds up nothing", async () => {
  const it = stage(new Map([["s0", UNFIT]]));
  assert.equal((await it.run(names)).inPlace.length, 199);
  assert.ok(it.most() > 1);
});

test("deletions that hang end, too", async () => {
  const it = stage(new Map(names.map((name) => [name, HUNG])));
  const { faults } = await it.run([], names);
  assert.deepEqual([it.sent, faults], [["s0"], [HUNG]]);
});
