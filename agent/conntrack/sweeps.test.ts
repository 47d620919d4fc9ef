import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { CodedError } from "../../common/errors.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import {
  entry,
  FakeTable,
  hex,
  RANGE,
  tcpService,
  udpService,
  VIP,
} from "../../test/support/fake-conntrack.ts";
import { ConntrackFollower } from "./conntrack-follower.ts";
import type { SweepFailure, Swept } from "./sweeps.ts";

const A = "10.1.0.11";
const B = "10.1.0.12";

describe("a follower", () => {
  let clock: FakeClock;
  let netlink: FakeTable;
  let tool: FakeTable;
  let swept: Swept[];
  let failed: SweepFailure[];
  let follower: ConntrackFollower;

  beforeEach(() => {
    clock = new FakeClock();
    [netlink, tool] = [new FakeTable(), new FakeTable("conntrack")];
    [swept, failed] = [[], []];
    follower = new ConntrackFollower({
      ...{ family: "IPv4", range: RANGE, tables: [netlink, tool], clock, random: () => 0 },
      events: {
        swept: (what) => swept.push(what),
        sweepFailed: (what) => failed.push(what),
      },
    });
  });

  /** Has the kernel accept these services of `demo/serve`, and nothing else if `complete`. */
  async function accept(services: Parameters<typeof follower.proposed>[1], complete = false) {
    follower.proposed("demo/serve", services);
    follower.accepted(complete);
    await turn();
  }

  /** The same, with the sweeps that follow and their rests. */
  async function settled(services: Parameters<typeof follower.proposed>[1], complete = false) {
    await accept(services, complete);
    for (let i = 0; i < 3; i++) {
      clock.advance(5_000);
      await turn();
    }
    netlink.lists.length = 0;
    swept.length = 0;
  }

  test("looks at nothing before something is live, nor after a transaction that failed", async () => {
    follower.proposed("demo/serve", [udpService([A])]);
    await turn();
    follower.failed();
    assert.deepEqual(netlink.lists, []);
    follower.accepted(false);
    await turn();
    assert.deepEqual(netlink.lists, [], "what had failed is not live");
  });

  test("looks at all of its family after a complete pass, the first and every other", async () => {
    netlink.entries = [entry({ at: `${A}:5353` }), entry({ at: `${B}:5353`, clientPort: 4001 })];
    await accept([udpService([A])], true);
    assert.deepEqual(netlink.lists, [{ family: "IPv4" }]);
    assert.deepEqual(netlink.entries, [entry({ at: `${A}:5353` })]);
    const deleted = [{ protocol: "UDP", reason: "endpoint-left", entries: 1 }];
    assert.deepEqual(swept, [{ family: "IPv4", by: "netlink", seconds: 0, deleted }]);
    await settled([udpService([A])], true);
    await accept([udpService([A])], true);
    assert.equal(netlink.lists.length, 1);
  });

  const waiting = (at: string, clientPort: number) =>
    entry({
      ...{ protocol: "TCP", tcp: "SYN_SENT", replied: false, clientPort },
      ...{ to: `${VIP}:80`, at: `${at}:8080` },
    });

  test("looks for what a TCP endpoint never answered when 0.8 s have passed since it left", async () => {
    await settled([tcpService([A, B])], true);
    netlink.entries = [waiting(A, 4000), waiting(B, 4001)];
    await accept([tcpService([A])]);
    clock.advance(799);
    await turn();
    assert.deepEqual(netlink.lists, []);
    clock.advance(1);
    await turn();
    const filter = { family: "IPv4", protocol: "TCP", destination: hex(VIP), unanswered: true };
    assert.deepEqual(netlink.lists, [filter]);
    assert.deepEqual(netlink.entries, [waiting(A, 4000)]);
    assert.deepEqual(
      swept.flatMap(({ deleted }) => deleted),
      [{ protocol: "TCP", reason: "unanswered", entries: 1 }],
    );
  });

  test("does not take a walk for another reason for the one that an endpoint waits for, which left a moment ago", async () => {
    const udp = udpService([A]);
    await settled([udp, udpService([A, B], { port: 54 }), tcpService([A, B])], true);
    netlink.entries = [waiting(A, 4000), waiting(B, 4001)];
    await accept([udp, udpService([A, B], { port: 54 }), tcpService([A])]);
    clock.advance(700);
    await accept([udp, udpService([A], { port: 54 }), tcpService([])]);
    netlink.entries.push(entry({ at: `${B}:5353`, to: `${VIP}:54` }));
    assert.equal(netlink.lists.length, 1, "of UDP");
    assert.equal(netlink.entries.length, 3);
    clock.advance(100);
    await turn();
    assert.deepEqual(netlink.entries.slice(0, 1), [waiting(A, 4000)]);
    clock.advance(700);
    await turn();
    assert.ok(!netlink.entries.some(({ protocol }) => protocol === "TCP"));
  });

  test("spares on a walk for an earlier reason what the transaction that is being made may have brought", async () => {
    await settled([tcpService([A, B])], true);
    await accept([tcpService([A])]);
    const [left, comes] = [waiting(B, 4000), waiting("10.1.0.13", 4001)];
    netlink.entries = [left, comes];
    follower.proposed("demo/serve", [tcpService([A, "10.1.0.13"])]);
    clock.advance(800);
    await turn();
    assert.deepEqual(netlink.entries, [comes]);
  });

  test("looks at answered entries as well where a walk is for two reasons", async () => {
    await settled([udpService([A, B]), tcpService([A, B])], true);
    await accept([udpService([A, B]), tcpService([A])]);
    clock.advance(750);
    await accept([udpService([A]), tcpService([A])]);
    clock.advance(60);
    netlink.entries = [entry({ at: `${B}:5353`, replied: true }), waiting(B, 4001)];
    await accept([udpService([]), tcpService([A])]);
    clock.advance(40);
    await turn();
    assert.deepEqual(netlink.lists.at(-1), { family: "IPv4", destination: hex(VIP) });
    assert.deepEqual(netlink.entries, []);
  });

  test("sweeps all at once that was not answered by endpoints that left about the same time", async () => {
    const other = (pods: string[]) => tcpService(pods, undefined, { port: 81 });
    await settled([tcpService([A, B]), other([A, B])], true);
    const release = netlink.hold();
    await accept([tcpService([A]), other([A, B])]);
    clock.advance(10);
    await accept([tcpService([]), other([A, B])]);
    clock.advance(10);
    await accept([tcpService([]), other([A])]);
    clock.advance(800);
    release();
    await turn();
    clock.advance(5_000);
    await turn();
    assert.equal(netlink.lists.length, 2, "the first, and one for the rest");
  });

  test("asks the kernel for what is concerned only", async () => {
    await settled([udpService([A]), tcpService([A])], true);
    await settled([udpService([A, B]), tcpService([A])]);
    await accept([udpService([B]), tcpService([A])]);
    assert.deepEqual(netlink.lists, [{ family: "IPv4", protocol: "UDP", destination: hex(VIP) }]);
    const vips = { vips: [VIP, "241.0.0.11"] };
    await settled([udpService([A], vips), tcpService([A])]);
    await accept([udpService([B], vips), tcpService([A])]);
    assert.deepEqual(netlink.lists, [{ family: "IPv4", protocol: "UDP" }], "of two VIPs, neither");
  });

  test("leaves an explicit VIP alone once what it left behind is deleted", async () => {
    const explicit = { to: "198.51.100.7:53", at: `${A}:5353` };
    await settled([udpService([A], { vips: ["198.51.100.7"] })], true);
    netlink.entries = [entry(explicit)];
    await settled([]);
    assert.deepEqual(netlink.entries, []);
    netlink.entries = [entry(explicit)];
    await settled([udpService([A])]);
    assert.equal(netlink.entries.length, 1, "somebody else's now");
  });

  for (const [what, before, after] of [
    ["another UDP endpoint comes", [udpService([A])], [udpService([A, B])]],
    ["another TCP endpoint comes", [tcpService([A])], [tcpService([A, B])]],
    ["an SCTP port goes", [tcpService([A], undefined, { protocol: "SCTP" })], []],
  ] as const) {
    test(`does not look when ${what}`, async () => {
      await settled(before, true);
      await accept(after);
      clock.advance(5_000);
      await turn();
      assert.deepEqual(netlink.lists, []);
    });
  }

  for (const [what, before, after] of [
    ["a TCP endpoint leaves and nobody asks for resets", [tcpService([A, B])], [tcpService([A])]],
    [
      "a TCP endpoint that is still listed takes nothing more",
      [tcpService([A, B], [A, B])],
      [tcpService([A], [B, A])],
    ],
    ["a TCP port goes", [tcpService([A], [A])], []],
  ] as const) {
    test(`looks later, and only for what was not answered, when ${what}`, async () => {
      await settled(before, true);
      await accept(after);
      assert.deepEqual(netlink.lists, []);
      clock.advance(5_000);
      await turn();
      assert.deepEqual(
        netlink.lists.map(({ unanswered }) => unanswered),
        [true],
      );
    });
  }

  for (const [what, before, after] of [
    ["a UDP endpoint leaves", [udpService([A, B])], [udpService([A])]],
    ["the last UDP endpoint leaves", [udpService([A])], [udpService([])]],
    ["a UDP port goes", [udpService([A])], []],
    ["a port is new", [], [tcpService([A])]],
    ["a port gets its first endpoint", [tcpService([])], [tcpService([A])]],
    [
      "a TCP endpoint is gone that asked for resets",
      [tcpService([A, B], [A, B])],
      [tcpService([A], [A])],
    ],
    ["an import begins to ask for resets", [tcpService([A])], [tcpService([A], [A])]],
  ] as const) {
    test(`looks when ${what}`, async () => {
      await settled(before, true);
      await accept(after);
      assert.equal(netlink.lists.length, 1);
    });
  }

  test("a VIP that moves from one import to another is judged by who has it", async () => {
    await settled([udpService([A])], true);
    netlink.entries = [entry({ at: `${A}:5353` })];
    follower.proposed("demo/other", [udpService([B], { importKey: "demo/other" })]);
    follower.proposed("demo/serve", []);
    follower.accepted(false);
    await turn();
    assert.deepEqual(
      swept.flatMap(({ deleted }) => deleted.map(({ reason }) => reason)),
      ["endpoint-left"],
    );
  });

  test("has one sweep at a time, and one more for all that is asked for meanwhile", async () => {
    await settled([udpService([A, B])], true);
    const release = netlink.hold();
    await accept([udpService([A])]);
    clock.advance(40);
    for (const pods of [[B], [A], [B]]) await accept([udpService(pods)]);
    assert.equal(netlink.lists.length, 1);
    release();
    await turn();
    assert.equal(swept[0]?.seconds, 0.04);
    clock.advance(359);
    await turn();
    assert.equal(netlink.lists.length, 1, "rests for nine times as long as it took");
    clock.advance(1);
    await turn();
    assert.equal(netlink.lists.length, 2);
    clock.advance(10_000);
    await turn();
    assert.equal(netlink.lists.length, 2);
  });

  test("under a hundred changes a second it sweeps ten times a second, and misses nothing", async () => {
    await settled([udpService([A, B])], true);
    for (let i = 0; i < 100; i++) {
      if (i === 99) netlink.entries = [entry({ at: `${A}:5353` })];
      await accept([udpService([i % 2 === 0 ? A : B])]);
      clock.advance(10);
      await turn();
    }
    assert.ok(netlink.lists.length <= 11, `${netlink.lists.length} sweeps`);
    clock.advance(100);
    await turn();
    assert.deepEqual(netlink.entries, []);
  });

  test("where netlink fails the program takes over, at once and every time", async () => {
    netlink.faults.push(
      new CodedError("CSP_NETLINK_UNAVAILABLE", "no native part"),
      new CodedError("CSP_NETLINK_FAILED", "no answer"),
    );
    await accept([udpService([A])], true);
    assert.deepEqual(
      failed.map(({ by, last }) => [by, last]),
      [["netlink", false]],
    );
    assert.deepEqual(
      swept.map(({ by }) => by),
      ["conntrack"],
    );
    clock.advance(100);
    await accept([udpService([B])]);
    assert.deepEqual(
      swept.map(({ by }) => by),
      ["conntrack", "conntrack"],
    );
    clock.advance(100);
    await accept([udpService([A])]);
    assert.deepEqual(
      swept.map(({ by }) => by),
      ["conntrack", "conntrack", "netlink"],
    );
  });

  test("where nothing works it tries again, ever more rarely, and forgets nothing", async () => {
    await settled([udpService([A, B])], true);
    for (const table of [netlink, tool]) {
      for (let i = 0; i < 3; i++) table.faults.push(new Error("no"));
    }
    await accept([udpService([A])]);
    netlink.entries = [entry({ at: `${B}:5353` })];
    const waits: (number | undefined)[] = [];
    while (swept.length === 0) {
      waits.push(clock.next);
      clock.advance(clock.next ?? 0);
      await turn();
    }
    assert.deepEqual(waits, [1_000, 2_000, 4_000]);
    assert.equal(failed.filter(({ last }) => last).length, 3);
    assert.deepEqual(netlink.entries, []);
  });

  test("that is stopped begins no other sweep", async () => {
    const release = netlink.hold();
    await accept([udpService([A])], true);
    await accept([udpService([B])]);
    const stopped = follower.stop();
    release();
    await stopped;
    await accept([udpService([A])]);
    clock.advance(60_000);
    await turn();
    assert.equal(swept.length, 1);
    assert.equal(netlink.lists.length, 1);
    assert.equal(clock.pending, 0);
  });

  test("that is stopped waits for no answer any more", async () => {
    await settled([tcpService([A, B])], true);
    await accept([tcpService([A])]);
    await follower.stop();
    assert.equal(clock.pending, 0);
  });

  test("that is stopped does not wait for a program that hangs, calls that no failure, and tries no other", async () => {
    netlink.holdUntilStopped();
    await accept([udpService([A])], true);
    await follower.stop();
    assert.deepEqual([swept.length, failed.length, tool.lists.length], [0, 0, 0]);
  });
});
