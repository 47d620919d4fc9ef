import assert from "node:assert/strict";
import { test } from "node:test";
import type { Problem } from "../../api/problem.ts";
import type { ReflectorEvents } from "../../common/kubernetes/reflector-events.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { exportRecord } from "../../test/generators/export-records.ts";
import { MOST_RECORDS } from "../model/limits.ts";
import { UNLIMITED } from "../model/peer-scope.ts";
import { encodeRecord } from "../registry/encode.ts";
import { recordName } from "../registry/names.ts";
import { Member } from "./member.ts";

const NAMESPACE = "clusterset-registry-c1";

/** A peer with a registry of a test, and the number of lists. */
class Peer {
  readonly reported: string[] = [];
  lists = 0;
  #events: ReflectorEvents | undefined;
  readonly member = new Member({
    id: "c1",
    namespace: NAMESPACE,
    isOurs: false,
    clusterSetCidrs: [],
    maxRules: 1000,
    clock: new FakeClock(),
    events: {
      dirty: () => undefined,
      lease: () => undefined,
      synced: () => undefined,
      state: () => undefined,
      problems: (object, problems: readonly Problem[]) =>
        this.reported.push([object, ...problems.map(({ reason }) => reason)].join(": ")),
    },
  });

  /** The reflector lists `records`; shop/web is the oldest. */
  async read(records: () => Iterable<string>): Promise<void> {
    await this.member.connect(
      (query, events) => ({
        start: () => {
          if (query.resource === "serviceimports") {
            this.lists++;
            this.#events = events;
            for (const name of records()) this.put(name);
          }
          events.listed();
        },
        stop: () => Promise.resolve(),
        wrote: () => undefined,
        found: () => undefined,
        erased: () => undefined,
        rewound: () => undefined,
      }),
      UNLIMITED,
      ["shop/web"],
    );
  }

  put(name: string): void {
    const exported = exportRecord({ key: `shop/${name}`, exported: Date.UTC(2026) });
    const { metadata, ...record } = encodeRecord(exported, NAMESPACE);
    const creationTimestamp = name === "web" ? "2025-01-01T00:00:00Z" : "2026-01-01T00:00:00Z";
    const object = { ...record, metadata: { ...metadata, creationTimestamp } };
    this.#events?.changed(keyOf(name), object, 0);
  }

  remove(name: string): void {
    this.#events?.removed(keyOf(name), 0);
  }
}

function keyOf(name: string): string {
  return `${NAMESPACE}/${recordName(`shop/${name}`)}`;
}

test("a flooded registry keeps earlier records, and is listed again when there is room", async () => {
  const names = new Set(Array.from({ length: MOST_RECORDS + 20 }, (_, i) => `flood-${i}`));
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
  await new Promise(setImmediate);
  assert.ok(peer.member.record(`shop/${last}`));
  assert.equal(peer.member.records.size, MOST_RECORDS);
  assert.deepEqual(peer.reported.slice(1), [`ServiceImports of namespace shop in ${NAMESPACE}`]);
  assert.equal(peer.lists, 2, "once, for any number of removed records");
});
