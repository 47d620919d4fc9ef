import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Problem } from "../../api/problem.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { IDLE } from "../../test/doubles/idle-reflector.ts";
import { exportRecord } from "../../test/generators/export-records.ts";
import { MOST_RECORDS } from "../model/limits.ts";
import { UNLIMITED } from "../model/peer-scope.ts";
import { encodeRecord } from "../registry/encode.ts";
import { recordName } from "../registry/names.ts";
import type { Follow } from "./informer.ts";
import { Member } from "./member.ts";

const NAMESPACE = "clusterset-registry-c1";

type Events = Parameters<Follow>[1];

/** A peer whose registry's records are those that a test puts, and the number of their lists. */
class Peer {
  readonly clock = new FakeClock();
  readonly reported: string[] = [];
  lists = 0;
  #records: Events | undefined;
  readonly member = new Member({
    id: "c1",
    namespace: NAMESPACE,
    isOurs: false,
    clusterSetCidrs: [],
    maxRules: 1000,
    clock: this.clock,
    isConfirmed: () => false,
    events: {
      dirty: () => undefined,
      changed: () => undefined,
      state: () => undefined,
      problems: (object, problems: readonly Problem[]) =>
        this.reported.push([object, ...problems.map(({ reason }) => reason)].join(": ")),
    },
  });

  /** Each list has the names of `records`, of which shop/web is known; then something may happen. */
  async read(
    records: () => Iterable<string>,
    afterwards?: (events: Events) => void,
  ): Promise<void> {
    const follow: Follow = (query, events) => ({
      ...IDLE,
      start: () => {
        const isRecords = query.resource === "serviceimports";
        if (isRecords) {
          this.lists++;
          this.#records = events;
          for (const name of records()) this.put(name);
        }
        events.listed();
        events.state({ reason: "watching" });
        // Without a limit, the call would not return.
        if (isRecords && afterwards && this.lists < 1000) {
          void setImmediate().then(() => afterwards(events));
        }
      },
    });
    await this.member.connect(follow, UNLIMITED, ["shop/web"]);
  }

  /** A record of shop/`name`; that of web is the oldest. */
  put(name: string): void {
    const exported = exportRecord({ key: `shop/${name}`, exported: Date.UTC(2026) });
    const { metadata, ...record } = encodeRecord(exported, NAMESPACE);
    const creationTimestamp = name === "web" ? "2025-01-01T00:00:00Z" : "2026-01-01T00:00:00Z";
    const object = { ...record, metadata: { ...metadata, creationTimestamp } };
    this.#records?.changed(keyOf(name), object, 0);
  }

  remove(name: string, why: "deleted" | "missing" = "deleted"): void {
    this.#records?.removed(keyOf(name), 0, why);
  }

  async pass(seconds: number): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      this.clock.advance(1000);
      for (let turn = 0; turn < 20; turn++) await setImmediate();
    }
  }
}

function keyOf(name: string): string {
  return `${NAMESPACE}/${recordName(`shop/${name}`)}`;
}

function flood(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `flood-${i}`);
}

test("a flooded registry keeps earlier records, and is listed again when there is room", async () => {
  const names = new Set(flood(MOST_RECORDS + 20));
  names.add("web");
  const peer = new Peer();
  // The names of the flood are first in the list.
  await peer.read(() => names);
  assert.equal(peer.member.records.size, MOST_RECORDS);
  assert.ok(peer.member.record("shop/web"));
  assert.deepEqual(peer.reported, [
    `ServiceImports of namespace shop in ${NAMESPACE}: too-many-records`,
  ]);
  assert.equal(peer.lists, 1);

  // Of one second, the last by name.
  const last = "flood-9999";
  assert.equal(peer.member.record(`shop/${last}`), undefined);
  for (let i = 0; i < 21; i++) {
    names.delete(`flood-${i}`);
    peer.remove(`flood-${i}`);
  }
  await Promise.resolve();
  await setImmediate();
  assert.ok(peer.member.record(`shop/${last}`));
  assert.equal(peer.member.records.size, MOST_RECORDS);
  assert.deepEqual(peer.reported.slice(1), [`ServiceImports of namespace shop in ${NAMESPACE}`]);
  assert.equal(peer.lists, 2, "once, for any number of removed records");
});

test("retained records stay within the registry's limit", async () => {
  const peer = new Peer();
  await peer.read(() => []);
  for (let round = 0; round < 8; round++) {
    const names = Array.from({ length: 2000 }, (_, i) => `r${round}-${i}`);
    for (const name of names) peer.put(name);
    for (const name of names) peer.remove(name, "missing");
  }
  assert.equal(peer.member.services().size, MOST_RECORDS);
  assert.ok(peer.member.record("shop/r0-0"), "the first records stay");
});

test("a registry that is rewound repeatedly is listed every ten seconds, and nothing is removed", async () => {
  const peer = new Peer();
  await peer.read(
    () => ["web"],
    (events) => events.state({ reason: "rewound" }),
  );
  await peer.pass(60);
  assert.ok(peer.lists > 3 && peer.lists <= 8, String(peer.lists));
  assert.ok(peer.member.record("shop/web"));
  assert.equal(peer.member.registry.isWatched, false, "a relist is due");
  await peer.member.stop();
  assert.equal(peer.clock.pending, 0);
});

test("a registry over its limit that changes constantly is listed every ten seconds", async () => {
  const peer = new Peer();
  let first = 0;
  await peer.read(
    () => flood(MOST_RECORDS + 5),
    () => peer.remove(`flood-${first++}`),
  );
  await peer.pass(9);
  assert.equal(peer.lists, 2, "at once, for the first time");
  await peer.pass(2);
  assert.equal(peer.lists, 3);
  await peer.member.stop();
  const { lists } = peer;
  await peer.pass(20);
  assert.equal(peer.lists, lists, "nothing is read once it is stopped");
});
