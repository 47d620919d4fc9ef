import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { CodedError } from "../../common/errors.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import {
  entry,
  FakeTable,
  hex,
  RANGE,
  tcpService as tcp,
  udpService as udp,
  VIP,
} from "../../test/doubles/fake-conntrack.ts";
import type { CleanupFailure, CleanupResult } from "./cleanup-schedule.ts";
import { ConntrackFollower } from "./conntrack-follower.ts";

const A = "10.1.0.11";
const B = "10.1.0.12";

describe("ConntrackFollower", () => {
  let clock: FakeClock;
  let netlink: FakeTable;
  let tool: FakeTable;
  let cleanedUp: CleanupResult[];
  let failed: CleanupFailure[];
  let follower: ConntrackFollower;

  beforeEach(() => {
    clock = new FakeClock();
    [netlink, tool] = [new FakeTable(), new FakeTable("conntrack")];
    [cleanedUp, failed] = [[], []];
    follower = new ConntrackFollower({
      ...{ family: "IPv4", ranges: [RANGE], tables: [netlink, tool], clock, random: () => 0 },
      events: {
        cleanedUp: (what) => cleanedUp.push(what),
        cleanupFailed: (what) => failed.push(what),
      },
    });
  });

  /** The kernel accepts these services of `demo/serve`; `complete`: and has no others. */
  async function accept(services: Parameters<typeof follower.proposed>[1], complete = false) {
    follower.proposed("demo/serve", services);
    follower.accepted(complete);
    await turn();
  }

  /** Moves time on, and lets what that causes come to rest. */
  async function pass(ms: number): Promise<void> {
    clock.advance(ms);
    await turn();
  }

  /** The same, and waits until the cleanups that follow have ended. */
  async function settled(services: Parameters<typeof follower.proposed>[1], complete = false) {
    await accept(services, complete);
    for (let i = 0; i < 3; i++) {
      await pass(5_000);
    }
    netlink.lists.length = 0;
    cleanedUp.length = 0;
  }

  test("does not scan before rules are live, nor after a failed transaction", async () => {
    follower.proposed("demo/serve", [udp([A])]);
    await turn();
    follower.failed();
    assert.deepEqual(netlink.lists, []);
    follower.accepted(false);
    await turn();
    assert.deepEqual(netlink.lists, [], "the failed transaction is not live");
  });

  test("scans the whole table of its family after every complete pass", async () => {
    netlink.entries = [entry({ at: `${A}:5353` }), entry({ at: `${B}:5353`, clientPort: 4001 })];
    await accept([udp([A])], true);
    assert.deepEqual(netlink.lists, [{ family: "IPv4" }]);
    assert.deepEqual(netlink.entries, [entry({ at: `${A}:5353` })]);
    const deleted = [{ protocol: "UDP", reason: "endpoint-left", entries: 1 }];
    assert.deepEqual(cleanedUp, [{ family: "IPv4", by: "netlink", seconds: 0, deleted }]);
    await settled([udp([A])], true);
    await accept([udp([A])], true);
    assert.equal(netlink.lists.length, 1);
  });

  const waiting = (at: string, clientPort: number) =>
    entry({
      ...{ protocol: "TCP", tcp: "SYN_SENT", replied: false, clientPort },
      ...{ to: `${VIP}:80`, at: `${at}:8080` },
    });

  test("scans for unanswered TCP entries 0.8 s after their endpoint was removed", async () => {
    await settled([tcp([A, B])], true);
    netlink.entries = [waiting(A, 4000), waiting(B, 4001)];
    await accept([tcp([A])]);
    await pass(799);
    assert.deepEqual(netlink.lists, []);
    await pass(1);
    const filter = { family: "IPv4", protocol: "TCP", destination: hex(VIP), unanswered: true };
    assert.deepEqual(netlink.lists, [filter]);
    assert.deepEqual(netlink.entries, [waiting(A, 4000)]);
    assert.deepEqual(
      cleanedUp.flatMap(({ deleted }) => deleted),
      [{ protocol: "TCP", reason: "unanswered", entries: 1 }],
    );
  });

  test("keeps unanswered entries to an endpoint removed a moment ago when it scans for another reason", async () => {
    const kept = udp([A]);
    await settled([kept, udp([A, B], { port: 54 }), tcp([A, B])], true);
    netlink.entries = [waiting(A, 4000), waiting(B, 4001)];
    await accept([kept, udp([A, B], { port: 54 }), tcp([A])]);
    clock.advance(700);
    await accept([kept, udp([A], { port: 54 }), tcp([])]);
    netlink.entries.push(entry({ at: `${B}:5353`, to: `${VIP}:54` }));
    assert.equal(netlink.lists.length, 1, "of UDP");
    assert.equal(netlink.entries.length, 3);
    await pass(100);
    assert.deepEqual(netlink.entries.slice(0, 1), [waiting(A, 4000)]);
    await pass(700);
    assert.ok(!netlink.entries.some(({ protocol }) => protocol === "TCP"));
  });

  test("scans answered entries, too, when it merges two requests", async () => {
    await settled([udp([A, B]), tcp([A, B])], true);
    await accept([udp([A, B]), tcp([A])]);
    clock.advance(750);
    await accept([udp([A]), tcp([A])]);
    clock.advance(60);
    netlink.entries = [entry({ at: `${B}:5353`, replied: true }), waiting(B, 4001)];
    await accept([udp([]), tcp([A])]);
    await pass(40);
    assert.deepEqual(netlink.lists.at(-1), { family: "IPv4", destination: hex(VIP) });
    assert.deepEqual(netlink.entries, []);
  });

  test("cleans up after endpoints removed about the same time in one scan", async () => {
    const other = (pods: string[]) => tcp(pods, undefined, { port: 81 });
    await settled([tcp([A, B]), other([A, B])], true);
    const release = netlink.hold();
    await accept([tcp([A]), other([A, B])]);
    clock.advance(10);
    await accept([tcp([]), other([A, B])]);
    clock.advance(10);
    await accept([tcp([]), other([A])]);
    clock.advance(800);
    release();
    await turn();
    await pass(5_000);
    assert.equal(netlink.lists.length, 2, "the first, and one for the rest");
  });

  test("filters by protocol and VIP in the kernel", async () => {
    await settled([udp([A]), tcp([A])], true);
    await settled([udp([A, B]), tcp([A])]);
    await accept([udp([B]), tcp([A])]);
    assert.deepEqual(netlink.lists, [{ family: "IPv4", protocol: "UDP", destination: hex(VIP) }]);
    const vips = { vips: [VIP, "241.0.0.11"] };
    await settled([udp([A], vips), tcp([A])]);
    await accept([udp([B], vips), tcp([A])]);
    assert.deepEqual(netlink.lists, [{ family: "IPv4", protocol: "UDP" }], "of two VIPs, neither");
  });

  test("ignores a released explicit VIP once its stale entries are deleted", async () => {
    const explicit = { to: "198.51.100.7:53", at: `${A}:5353` };
    await settled([udp([A], { vips: ["198.51.100.7"] })], true);
    netlink.entries = [entry(explicit)];
    await settled([]);
    assert.deepEqual(netlink.entries, []);
    netlink.entries = [entry(explicit)];
    await settled([udp([A])]);
    assert.equal(netlink.entries.length, 1, "no longer ours");
  });

  for (const complete of [true, false]) {
    test(`deletes UDP entries of an explicit VIP whose rules were kept, once its import is deleted, ${complete ? "by a complete pass" : "before a complete pass"}`, async () => {
      const explicit = udp([A], { vips: ["198.51.100.7"] });
      netlink.entries = [entry({ to: "198.51.100.7:53", at: `${B}:5353` })];
      follower.kept([explicit]);
      follower.proposed("demo/other", []);
      follower.accepted(false);
      await pass(5_000);
      assert.equal(netlink.entries.length, 1, "its rules may have any endpoint");
      follower.proposed("demo/serve", []);
      follower.accepted(complete);
      await pass(5_000);
      assert.deepEqual(netlink.entries, []);
    });
  }

  for (const [what, before, after, scans] of [
    ["a UDP endpoint is added", [udp([A])], [udp([A, B])], "never"],
    ["a TCP endpoint is added", [tcp([A])], [tcp([A, B])], "never"],
    ["an SCTP port is removed", [tcp([A], undefined, { protocol: "SCTP" })], [], "never"],
    ["a TCP endpoint is removed without the annotation", [tcp([A, B])], [tcp([A])], "later"],
    ["a TCP endpoint in a slice takes none", [tcp([A, B], [A, B])], [tcp([A], [B, A])], "later"],
    ["a TCP port is removed", [tcp([A], [A])], [], "later"],
    ["a UDP endpoint is removed", [udp([A, B])], [udp([A])], "at once"],
    ["the last UDP endpoint is removed", [udp([A])], [udp([])], "at once"],
    ["a UDP port is removed", [udp([A])], [], "at once"],
    ["a port is added", [], [tcp([A])], "at once"],
    ["a port gets its first endpoint", [tcp([])], [tcp([A])], "at once"],
    ["one is removed with the annotation", [tcp([A, B], [A, B])], [tcp([A], [A])], "at once"],
    ["an import gets the annotation", [tcp([A])], [tcp([A], [A])], "at once"],
  ] as const) {
    test(`when ${what}, scans ${scans === "later" ? "later, and only unanswered entries" : scans}`, async () => {
      await settled(before, true);
      await accept(after);
      assert.equal(netlink.lists.length, scans === "at once" ? 1 : 0);
      if (scans === "at once") return;
      await pass(5_000);
      const unanswered = netlink.lists.map((filter) => filter.unanswered);
      assert.deepEqual(unanswered, scans === "later" ? [true] : []);
    });
  }

  test("runs one cleanup at a time and merges requests made meanwhile", async () => {
    await settled([udp([A, B])], true);
    const release = netlink.hold();
    await accept([udp([A])]);
    clock.advance(40);
    for (const pods of [[B], [A], [B]]) await accept([udp(pods)]);
    assert.equal(netlink.lists.length, 1);
    release();
    await turn();
    assert.equal(cleanedUp[0]?.seconds, 0.04);
    await pass(359);
    assert.equal(netlink.lists.length, 1, "pauses for nine times its duration");
    await pass(1);
    assert.equal(netlink.lists.length, 2);
    await pass(10_000);
    assert.equal(netlink.lists.length, 2);
  });

  test("connects to an endpoint that does not answer wait for no pause, but for the cleanup under way", async () => {
    await settled([udp([A, B]), tcp([A, B])], true);
    const release = netlink.hold();
    await accept([udp([A]), tcp([A, B])]);
    clock.advance(1_000);
    const silent = tcp([B], undefined, { unanswering: [`${A}:8080`] });
    await accept([udp([A]), silent]);
    assert.equal(netlink.lists.length, 1);
    release();
    await turn();
    assert.equal(netlink.lists.length, 2, "no pause after the first one");
    await accept([udp([A]), tcp([A, B])]);
    await accept([udp([A]), silent]);
    assert.equal(netlink.lists.length, 3, "nor within one");
  });

  test("under a hundred changes a second, runs ten cleanups a second and misses no entry", async () => {
    await settled([udp([A, B])], true);
    for (let i = 0; i < 100; i++) {
      if (i === 99) netlink.entries = [entry({ at: `${A}:5353` })];
      await accept([udp([i % 2 === 0 ? A : B])]);
      await pass(10);
    }
    assert.ok(netlink.lists.length <= 11, `${netlink.lists.length} scans`);
    await pass(100);
    assert.deepEqual(netlink.entries, []);
  });

  test("falls back to the conntrack program whenever netlink fails", async () => {
    netlink.faults.push(
      new CodedError("CSP_NETLINK_UNAVAILABLE", "no native part"),
      new CodedError("CSP_NETLINK_FAILED", "no answer"),
    );
    await accept([udp([A])], true);
    const failures = failed.map(({ by, last }) => [by, last]);
    assert.deepEqual(failures, [["netlink", false]]);
    const methods = () => cleanedUp.map(({ by }) => by);
    assert.deepEqual(methods(), ["conntrack"]);
    clock.advance(100);
    await accept([udp([B])]);
    assert.deepEqual(methods(), ["conntrack", "conntrack"]);
    clock.advance(100);
    await accept([udp([A])]);
    assert.deepEqual(methods(), ["conntrack", "conntrack", "netlink"]);
  });

  test("retries with exponential backoff when every access method fails", async () => {
    await settled([udp([A, B])], true);
    for (const table of [netlink, tool]) {
      for (let i = 0; i < 3; i++) table.faults.push(new Error("no"));
    }
    await accept([udp([A])]);
    netlink.entries = [entry({ at: `${B}:5353` })];
    const waits: (number | undefined)[] = [];
    while (cleanedUp.length === 0) {
      waits.push(clock.next);
      await pass(clock.next ?? 0);
    }
    assert.deepEqual(waits, [1_000, 2_000, 4_000]);
    assert.equal(failed.filter(({ last }) => last).length, 3);
    assert.deepEqual(netlink.entries, []);
  });

  test("waits as long after a failure although endpoints stop answering meanwhile", async () => {
    await settled([tcp([A, B])], true);
    for (const table of [netlink, tool]) table.faults.push(new Error("no"));
    const silent = tcp([B], undefined, { unanswering: [`${A}:8080`] });
    for (let i = 0; i < 6; i++) await accept([i % 2 === 0 ? silent : tcp([A, B])]);
    assert.deepEqual([failed.length, cleanedUp.length], [2, 0]);
    await pass(1_000);
    assert.equal(cleanedUp.length, 1);
  });

  test("starts no cleanup once stopped", async () => {
    const release = netlink.hold();
    await accept([udp([A])], true);
    await accept([udp([B])]);
    const stopped = follower.stop();
    release();
    await stopped;
    await accept([udp([A])]);
    await pass(60_000);
    assert.equal(cleanedUp.length, 1);
    assert.equal(netlink.lists.length, 1);
    assert.equal(clock.pending, 0);
  });

  test("cancels its timers when stopped", async () => {
    await settled([tcp([A, B])], true);
    await accept([tcp([A])]);
    await follower.stop();
    assert.equal(clock.pending, 0);
  });

  test("stops without waiting for a hanging program, reporting a failure or falling back", async () => {
    netlink.holdUntilStopped();
    await accept([udp([A])], true);
    await follower.stop();
    assert.deepEqual([cleanedUp.length, failed.length, tool.lists.length], [0, 0, 0]);
  });
});
