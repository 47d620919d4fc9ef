import assert from "node:assert/strict";
import { test } from "node:test";
import { exportRecord } from "../../test/support/export-records.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { MOST_RECORDS } from "../model/limits.ts";
import { encodeRecord } from "../registry/encode.ts";
import { recordName } from "../registry/names.ts";
import type { Follow } from "./feed.ts";
import { Member } from "./member.ts";

const NAMESPACE = "clusterset-registry-c1";

type Events = Parameters<Follow>[1];

/** A member that has not said that all it exports lies there, and what its feed of records tells. */
async function unassured(): Promise<readonly [Member, Events]> {
  const quiet = () => undefined;
  const member = new Member({
    id: "c1",
    namespace: NAMESPACE,
    isOurs: false,
    clusterSetCidrs: [],
    clock: new FakeClock(),
    told: {
      exported: quiet,
      lease: quiet,
      listed: quiet,
      heard: quiet,
      state: quiet,
      problems: quiet,
    },
  });
  let records: Events | undefined;
  const follow: Follow = (query, events) => {
    if (query.resource === "serviceimports") records = events;
    return {
      start: quiet,
      stop: async () => undefined,
      wrote: quiet,
      found: quiet,
      erased: quiet,
      rewound: quiet,
    };
  };
  await member.connect(follow, []);
  assert.ok(records);
  return [member, records];
}

function keyOf(name: string): string {
  return `${NAMESPACE}/${recordName(`shop/${name}`)}`;
}

function put(events: Events, name: string): void {
  events.changed(keyOf(name), encodeRecord(exportRecord({ key: `shop/${name}` }), NAMESPACE), 0);
}

test("what a list lacks is believed until its cluster says that all is there, and what comes back is there once", async () => {
  const [member, events] = await unassured();
  put(events, "web");
  events.removed(keyOf("web"), 0, "missing");
  assert.ok(member.record("shop/web"));
  put(events, "web");
  assert.ok(member.record("shop/web"));
  events.removed(keyOf("web"), 0, "deleted");
  assert.equal(member.record("shop/web"), undefined);
});

test("whose lists lack all that was before, again and again, is believed no more than a registry may hold", async () => {
  const [member, events] = await unassured();
  const list = 2000;
  for (let round = 0; round < 8; round++) {
    const names = Array.from({ length: list }, (_, i) => `r${round}-${i}`);
    for (const name of names) put(events, name);
    for (const name of names) events.removed(keyOf(name), 0, "missing");
  }
  assert.equal(member.services().size, MOST_RECORDS);
  assert.ok(member.record("shop/r0-0"), "what came first stays");
});
