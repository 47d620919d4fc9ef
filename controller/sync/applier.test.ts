import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import { SERVICE_IMPORTS } from "../../common/kubernetes/kinds.ts";
import { metaOf } from "../../common/kubernetes/object-meta.ts";
import type { ApiObject, ApplyOptions } from "../../common/kubernetes/writer.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { type Fields, isFields } from "../../test/doubles/memory/fields.ts";
import { MemoryObjects, Refusal } from "../../test/doubles/memory/object-table.ts";
import type { Manifest } from "../model/manifest.ts";
import { FactStore, type Seen } from "../stores/fact-store.ts";
import { Applier, UndeclaredFields } from "./applier.ts";
import { converge, inParallel } from "./converge.ts";

const KIND = "serviceimports";
const KEY = "shop/web";

/** One object on an API server, its applier, and its store. */
class Bench {
  readonly objects = new MemoryObjects("bench");
  readonly store = new FactStore<never>({
    parse: () => ({ object: "", problems: [] }),
    written: true,
    changed: () => undefined,
    problems: () => undefined,
  });
  writes = 0;
  rewinds = 0;
  readonly clock = new FakeClock();
  readonly applier = new Applier({
    resource: SERVICE_IMPORTS,
    clock: this.clock,
    takesOver: false,
    writer: {
      ownerOf: ({ namespace = "" }) => namespace,
      apply: (_resource, manifest, options) => this.#apply(manifest, options),
      delete: (_resource, _name, seen) =>
        this.#answer(() => this.objects.delete(KIND, KEY, { ...seen, key: undefined })),
      get: () => Promise.resolve(this.#found()),
    },
    store: this.store,
    informer: () => ({
      reflector: {
        wrote: (object) => this.store.changed(KEY, object),
        erased: ({ key }) => this.store.removed(key),
        rewound: () => this.rewinds++,
      },
    }),
  });

  /** The watch delivers the present state. */
  see(): void {
    const object = this.objects.get(KIND, KEY);
    if (object === undefined) this.store.removed(KEY);
    else this.store.changed(KEY, object);
  }

  apply(ips: readonly string[]): Promise<boolean> {
    return this.applier.apply(manifest(ips), this.store.seen(KEY));
  }

  stranger(fields: Fields): void {
    this.objects.apply(KIND, KEY, { metadata: { namespace: "shop", name: "web" }, ...fields }, "x");
  }

  async #apply(wanted: object, { seen, subresource }: ApplyOptions = {}): Promise<ApiObject> {
    this.writes++;
    assert.ok(isFields(wanted) && isFields(wanted.metadata));
    const { uid, resourceVersion } = seen ?? { resourceVersion: "1" };
    const metadata = { ...wanted.metadata, ...(seen && { uid }), resourceVersion };
    return this.#answer(() => {
      this.objects.apply(KIND, KEY, { ...wanted, metadata }, "us", subresource);
      const found = this.#found();
      assert.ok(found);
      return found;
    });
  }

  async #answer<T>(act: () => T): Promise<T> {
    try {
      return act();
    } catch (thrown) {
      assert.ok(thrown instanceof Refusal);
      throw new ApiFault("write-conflict", thrown.message);
    }
  }

  #found(): ApiObject | undefined {
    const object = this.objects.get(KIND, KEY);
    const meta = metaOf(object);
    return meta && { meta, object };
  }
}

function manifest(ips: readonly string[]): Manifest {
  const metadata = { namespace: "shop", name: "web" };
  const apiVersion = "multicluster.x-k8s.io/v1beta1";
  return { apiVersion, kind: "ServiceImport", metadata, spec: { ips } };
}

test("another writer's addition costs one write, and none when repeated", async () => {
  const bench = new Bench();
  await bench.apply(["241.0.0.1"]);
  bench.stranger({ spec: { other: 1 } });
  bench.see();
  assert.equal(await bench.apply(["241.0.0.1"]), true);
  assert.equal(await bench.apply(["241.0.0.1"]), false);
  assert.deepEqual(bench.objects.get(KIND, KEY)?.spec, { ips: ["241.0.0.1"], other: 1 });
});

test("a write on an old version conflicts, and the present state is stored at once", async () => {
  const bench = new Bench();
  await bench.apply(["241.0.0.1"]);
  bench.stranger({ spec: { other: 1 } });
  await assert.rejects(bench.apply(["241.0.0.2"]), { reason: "write-conflict" });
  assert.equal(await bench.apply(["241.0.0.2"]), true);
});

test("an object deleted meanwhile is created again once the deletion is known", async () => {
  const bench = new Bench();
  await bench.apply(["241.0.0.1"]);
  bench.objects.delete(KIND, KEY);
  await assert.rejects(bench.apply(["241.0.0.2"]), { reason: "write-conflict" });
  assert.equal(bench.objects.get(KIND, KEY), undefined);
  assert.equal(await bench.apply(["241.0.0.2"]), true);
});

test("only the seen version is deleted", async () => {
  const bench = new Bench();
  await bench.apply(["241.0.0.1"]);
  const seen = bench.store.seen(KEY);
  assert.ok(seen);
  bench.stranger({ spec: { other: 1 } });
  await assert.rejects(bench.applier.remove(seen), { reason: "write-conflict" });
  const now = bench.store.seen(KEY);
  assert.ok(now);
  await bench.applier.remove(now);
  assert.equal(bench.objects.get(KIND, KEY), undefined);
  assert.equal(bench.store.seen(KEY), undefined);
});

test("an object that was deleted is created again without a pause, any number of times", async () => {
  const bench = new Bench();
  for (let i = 0; i < 10; i++) {
    assert.equal(await bench.apply(["241.0.0.1"]), true);
    const seen = bench.store.seen(KEY);
    assert.ok(seen);
    await bench.applier.remove(seen);
  }
});

test("an object with an older version reports a rewound API server", async () => {
  const bench = new Bench();
  await bench.apply(["241.0.0.1"]);
  const backup = bench.objects.save();
  await bench.apply(["241.0.0.2"]);
  bench.objects.restore(backup);
  await assert.rejects(bench.apply(["241.0.0.3"]), { reason: "write-conflict" });
  assert.equal(bench.rewinds, 1);
});

const KNOWN = { type: "ClusterSetIP", ports: [] };
const UNKNOWN = { ipFamilies: ["IPv4"], trafficDistribution: "PreferClose" };
const IMPORT: Manifest = { ...manifest([]), spec: { ...KNOWN, ...UNKNOWN } };

function refusal(...paths: readonly string[]): ApiFault {
  const told = paths.map((path) => `${path}: field not declared in schema`);
  const message = `HTTP 500: failed to create typed patch object (shop/web; v1, Kind=ServiceImport): ${told.join("\n")}`;
  return new ApiFault("server-error", message);
}

test("a field that a CRD does not declare is left out after its first rejection", () => {
  const fields = new UndeclaredFields();
  assert.equal(fields.without(IMPORT), IMPORT);
  assert.equal(fields.learn(refusal(".spec.ipFamilies")), true);
  assert.equal(fields.learn(refusal(".spec.ipFamilies")), false);
  const asked = new ApiFault("write-failed", refusal(".spec.names").message);
  assert.equal(fields.learn(asked), true, "the API server answers reads");
  assert.equal(fields.learn(refusal(".spec.trafficDistribution", ".status.conditions")), true);
  assert.deepEqual(fields.without(IMPORT), { ...IMPORT, spec: KNOWN });
  const status = { clusters: [], conditions: [] };
  assert.deepEqual(fields.without({ ...IMPORT, status }).status, { clusters: [] });
});

test("other errors leave out no field", () => {
  const fields = new UndeclaredFields();
  assert.equal(fields.learn(new ApiFault("server-error", "HTTP 500: etcd has no leader")), false);
  assert.equal(fields.learn(new ApiFault("invalid", refusal(".spec.ips").message)), false);
  assert.equal(fields.learn(new Error(refusal(".spec.ips").message)), false);
});

/** Number of attempts for a hundred items, if each fails for this reason. */
async function tried(reason: FaultReason): Promise<number> {
  let count = 0;
  const work = async (): Promise<void> => {
    count++;
    throw new ApiFault(reason, `The ${count}th`);
  };
  await assert.rejects(inParallel(Array(100).keys(), work), { reason, message: "The 1th" });
  return count;
}

test("all items are tried and the first error is thrown; without an answer the rest is skipped", async () => {
  assert.equal(await tried("write-conflict"), 100);
  assert.equal(await tried("refused"), 100);
  for (const reason of ["stalled", "unreachable"] as const) {
    assert.ok((await tried(reason)) <= 8, reason);
  }
});

const HUNG = new ApiFault("webhook-failed", "Not answered within 7 seconds");
HUNG.took = 7_000;
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
