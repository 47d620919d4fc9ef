import assert from "node:assert/strict";
import { test } from "node:test";
import type { Problem } from "../../api/problem.ts";
import type { ReflectorEvents } from "../../common/kubernetes/reflector-events.ts";
import { exportRecord } from "../../test/support/export-records.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { MOST_RECORDS } from "../model/limits.ts";
import { encodeRecord } from "../registry/encode.ts";
import { recordName } from "../registry/names.ts";
import { Member } from "./member.ts";

const NAMESPACE = "clusterset-registry-c1";

/** A peer whose registry is as a test says, and how often it was listed. */
class Peer {
  readonly told: string[] = [];
  lists = 0;
  #events: ReflectorEvents | undefined;
  readonly member = new Member({
    id: "c1",
    namespace: NAMESPACE,
    isOurs: false,
    clusterSetCidrs: [],
    clock: new FakeClock(),
    told: {
      exported: () => undefined,
      lease: () => undefined,
      listed: () => undefined,
      heard: () => undefined,
      state: () => undefined,
      problems: (object, problems: readonly Problem[]) =>
        this.told.push([object, ...problems.map(({ reason }) => reason)].join(": ")),
    },
  });

  /** It is read, by somebody who had imported shop/web from it; whoever follows it lists `records`. */
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
      [],
      ["shop/web"],
    );
  }

  put(name: string): void {
    const record = encodeRecord(exportRecord({ key: `shop/${name}` }), NAMESPACE);
    this.#events?.changed(keyOf(name), record, 0);
  }

  remove(name: string): void {
    this.#events?.removed(keyOf(name), 0);
  }
}

function keyOf(name: string): string {
  return `${NAMESPACE}/${recordName(`shop/${name}`)}`;
}

test("a registry that is flooded takes nothing away that was there before, and is read again when there is room", async () => {
  const names = new Set(Array.from({ length: MOST_RECORDS + 20 }, (_, i) => `flood-${i}`));
  names.add("web");
  const peer = new Peer();
  // Whoever starts anew lists the flood first, by name.
  await peer.read(() => names);
  assert.equal(peer.member.records.size, MOST_RECORDS);
  assert.ok(peer.member.record("shop/web"));
  assert.deepEqual(peer.told, [`all ServiceImports of ${NAMESPACE}: too-many-records`]);
  assert.equal(peer.lists, 1);

  const last = `flood-${MOST_RECORDS + 19}`;
  assert.equal(peer.member.record(`shop/${last}`), undefined);
  for (let i = 0; i < 21; i++) {
    names.delete(`flood-${i}`);
    peer.remove(`flood-${i}`);
  }
  await Promise.resolve();
  await new Promise(setImmediate);
  assert.ok(peer.member.record(`shop/${last}`));
  assert.equal(peer.member.records.size, MOST_RECORDS);
  assert.deepEqual(peer.told.slice(1), [`all ServiceImports of ${NAMESPACE}`]);
  assert.equal(peer.lists, 2, "once, however much has gone");
});
