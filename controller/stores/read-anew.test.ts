import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { exportRecord } from "../../test/support/export-records.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { MOST_RECORDS } from "../model/limits.ts";
import { encodeRecord } from "../registry/encode.ts";
import { recordName } from "../registry/names.ts";
import type { Follow } from "./feed.ts";
import { Member } from "./member.ts";

const NAMESPACE = "clusterset-registry-c1";

/** What a feed of records sees of its API server once it has been listed. */
type Afterwards = (events: Parameters<Follow>[1]) => void;

/** A member whose registry has `records` more records than are believed, how often it was listed, and what came of that. */
class Stage {
  readonly clock = new FakeClock();
  lists = 0;
  readonly member = new Member({
    id: "c1",
    namespace: NAMESPACE,
    isOurs: false,
    clusterSetCidrs: [],
    clock: this.clock,
    told: {
      exported: () => undefined,
      lease: () => undefined,
      listed: () => undefined,
      heard: () => undefined,
      state: () => undefined,
      problems: () => undefined,
    },
  });

  read(records: number, afterwards: Afterwards): Promise<void> {
    const follow: Follow = (query, events) => ({
      start: () => {
        const isRecords = query.resource === "serviceimports";
        for (let i = 0; isRecords && i < records; i++) put(events, i);
        events.listed();
        events.state({ reason: "watching" });
        if (!isRecords) return;
        this.lists++;
        // Without an end, it would not return.
        if (this.lists < 1000) void setImmediate().then(() => afterwards(events));
      },
      stop: () => Promise.resolve(),
      wrote: () => undefined,
      found: () => undefined,
      erased: () => undefined,
      rewound: () => undefined,
    });
    return this.member.connect(follow, []);
  }

  async pass(seconds: number): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      this.clock.advance(1000);
      for (let turn = 0; turn < 20; turn++) await setImmediate();
    }
  }
}

function put(events: Parameters<Follow>[1], i: number): void {
  const name = `flood-${i}`;
  const record = encodeRecord(exportRecord({ key: `shop/${name}` }), NAMESPACE);
  events.changed(`${NAMESPACE}/${recordName(`shop/${name}`)}`, record, 0);
}

test("an API server that is older than it was again and again is read anew every ten seconds, and nothing is believed to be gone", async () => {
  const stage = new Stage();
  await stage.read(1, (events) => events.state({ reason: "rewound" }));
  await stage.pass(60);
  assert.ok(stage.lists > 3 && stage.lists <= 8, String(stage.lists));
  assert.equal(stage.member.isWatched, false, "it waits to be read anew");
  await stage.member.stop();
  assert.equal(stage.clock.pending, 0);
});

test("a registry that has too much, and changes all the time, is read anew every ten seconds", async () => {
  const stage = new Stage();
  let first = 0;
  await stage.read(MOST_RECORDS + 5, (events) => {
    events.removed(`${NAMESPACE}/${recordName(`shop/flood-${first++}`)}`, 0, "deleted");
  });
  await stage.pass(9);
  assert.equal(stage.lists, 2, "at once, for the first time");
  await stage.pass(2);
  assert.equal(stage.lists, 3);
  await stage.member.stop();
  const { lists } = stage;
  await stage.pass(20);
  assert.equal(stage.lists, lists, "nothing is read once it is stopped");
});
