import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { exportRecord } from "../../test/generators/export-records.ts";
import { MOST_RECORDS } from "../model/limits.ts";
import { UNLIMITED } from "../model/peer-scope.ts";
import { encodeRecord } from "../registry/encode.ts";
import { recordName } from "../registry/names.ts";
import type { Follow } from "./informer.ts";
import { Member } from "./member.ts";

const NAMESPACE = "clusterset-registry-c1";

/** The events of a list after the first one. */
type Afterwards = (events: Parameters<Follow>[1]) => void;

/** A member with `records` records, and the number of lists. */
class Stage {
  readonly clock = new FakeClock();
  lists = 0;
  readonly member = new Member({
    id: "c1",
    namespace: NAMESPACE,
    isOurs: false,
    clusterSetCidrs: [],
    maxRules: 1000,
    clock: this.clock,
    events: {
      dirty: () => undefined,
      lease: () => undefined,
      synced: () => undefined,
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
        // Without a limit, the call would not return.
        if (this.lists < 1000) void setImmediate().then(() => afterwards(events));
      },
      stop: () => Promise.resolve(),
      wrote: () => undefined,
      found: () => undefined,
      erased: () => undefined,
      rewound: () => undefined,
    });
    return this.member.connect(follow, UNLIMITED);
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

test("a registry that is rewound repeatedly is listed every ten seconds, and nothing is removed", async () => {
  const stage = new Stage();
  await stage.read(1, (events) => events.state({ reason: "rewound" }));
  await stage.pass(60);
  assert.ok(stage.lists > 3 && stage.lists <= 8, String(stage.lists));
  assert.equal(stage.member.registry.isWatched, false, "a relist is due");
  await stage.member.stop();
  assert.equal(stage.clock.pending, 0);
});

test("a registry over its limit that changes constantly is listed every ten seconds", async () => {
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
