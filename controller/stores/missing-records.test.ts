import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { exportRecord } from "../../test/generators/export-records.ts";
import { MOST_RECORDS } from "../model/limits.ts";
import { UNLIMITED } from "../model/peer-scope.ts";
import { encodeRecord } from "../registry/encode.ts";
import { recordName } from "../registry/names.ts";
import type { Follow } from "./informer.ts";
import { Member } from "./member.ts";

const NAMESPACE = "clusterset-registry-c1";

type Events = Parameters<Follow>[1];

/** A member whose Lease is not marked complete, the events of its records, and what ends its first lists. */
async function unconfirmedMember(): Promise<readonly [Member, Events, () => void]> {
  const quiet = () => undefined;
  const member = new Member({
    id: "c1",
    namespace: NAMESPACE,
    isOurs: false,
    clusterSetCidrs: [],
    maxRules: 1000,
    clock: new FakeClock(),
    events: {
      dirty: quiet,
      lease: quiet,
      synced: quiet,
      state: quiet,
      problems: quiet,
    },
  });
  let records: Events | undefined;
  const all: Events[] = [];
  const follow: Follow = (query, events) => {
    all.push(events);
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
  await member.connect(follow, UNLIMITED);
  assert.ok(records);
  return [
    member,
    records,
    () => {
      for (const events of all) events.listed();
    },
  ];
}

function keyOf(name: string): string {
  return `${NAMESPACE}/${recordName(`shop/${name}`)}`;
}

function put(events: Events, name: string): void {
  events.changed(keyOf(name), encodeRecord(exportRecord({ key: `shop/${name}` }), NAMESPACE), 0);
}

test("a record that a list lacks is retained until the Lease is marked complete; one that returns exists once", async () => {
  const [member, events] = await unconfirmedMember();
  put(events, "web");
  events.removed(keyOf("web"), 0, "missing");
  assert.ok(member.record("shop/web"));
  put(events, "web");
  assert.ok(member.record("shop/web"));
  events.removed(keyOf("web"), 0, "deleted");
  assert.equal(member.record("shop/web"), undefined);
});

test("retained records stay within the registry's limit", async () => {
  const [member, events, listed] = await unconfirmedMember();
  listed();
  const list = 2000;
  for (let round = 0; round < 8; round++) {
    const names = Array.from({ length: list }, (_, i) => `r${round}-${i}`);
    for (const name of names) put(events, name);
    for (const name of names) events.removed(keyOf(name), 0, "missing");
  }
  assert.equal(member.services().size, MOST_RECORDS);
  assert.ok(member.record("shop/r0-0"), "the first records stay");
});
