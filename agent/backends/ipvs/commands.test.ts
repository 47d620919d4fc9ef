import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SCHEDULERS } from "../../../api/keys.ts";
import { ipvsBackend, OPTIONS } from "../../../test/doubles/model-ipvs.ts";
import { forMany } from "../../../test/generators/for-all.ts";
import { virtualService } from "../../../test/generators/services.ts";
import { anyShared } from "../../../test/generators/shared-services.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { finished } from "../backend.ts";
import { KernelChange } from "../kernel-table.ts";
import type { Held } from "../objects.ts";
import { IpvsLayout } from "./layout.ts";
import { SETTINGS_ID } from "./listing.ts";
import { elementLines } from "./nft-tables.ts";
import { renderPort, weightsOf } from "./render.ts";
import { parseVip, vipText } from "./vip.ts";

const A = { address: "10.1.0.11", port: 8080, cluster: "c1" };
const B = { address: "10.2.0.11", port: 8080, cluster: "c2" };
const KEY = "demo/serve";
/** 241.0.0.10. */
const VIP = "f100000a";
const BACKEND = ipvsBackend(OPTIONS);
const LAYOUT = new IpvsLayout({ ...OPTIONS, scheduler: "rr" });

/** A kernel, and the agent that writes to it. */
class World {
  readonly held: Held = new Map();
  #ruleset = BACKEND.ruleset();

  /** What is done for these services of one import, in the order in which it is done; the table itself left out. */
  set(services: readonly VirtualService[], kept: readonly VirtualService[] = []): string[] {
    this.#ruleset.set(KEY, services, { kept });
    return this.#apply();
  }

  /** A new process with these desired services. */
  restart(services: readonly VirtualService[], kept: readonly VirtualService[] = []): string[] {
    this.#ruleset = BACKEND.ruleset();
    return this.set(services, kept);
  }

  /** A check finds that these draining destinations have no connections. */
  idle(...keys: readonly string[]): string[] {
    const marked = (text: string) =>
      keys.reduce((all, key) => all.replaceAll(`${key} 0`, `${key} 0.`), text);
    const found = [...this.held].map(
      ([id, { digest }]) => [id, { digest: marked(digest) }] as const,
    );
    const change = LAYOUT.garbage(this.held, new Map(found));
    const tx = new KernelChange(change, LAYOUT.commands(change, this.held));
    tx.settle(this.held);
    return linesOf(String(tx));
  }

  #apply(): string[] {
    const tx = finished(BACKEND.diff(this.held, finished(this.#ruleset.take())));
    const lines = linesOf(String(tx));
    if (!tx.empty) tx.settle(this.held);
    return lines;
  }
}

function linesOf(text: string): string[] {
  const at = text.lastIndexOf("\n}\n");
  const lines = (at < 0 ? text : text.slice(at + 3)).split("\n");
  return lines.filter((line) => line !== "" && line !== "}");
}

const service = (endpoints: readonly (typeof A)[], more: Partial<VirtualService> = {}) =>
  virtualService({ endpoints, ...more });
/** A world in which the service has both endpoints. */
function both(more: Partial<VirtualService> = {}): World {
  const world = new World();
  world.set([service([A, B], more)]);
  return world;
}

describe("the steps of a change, in order", () => {
  test("a new service: its destinations, its address, and only then the guard admits connections", () => {
    assert.deepEqual(new World().set([service([A, B])]), [
      "new-server TCP 241.0.0.10 80 wrr flags 32 timeout 0",
      "new-destination TCP 241.0.0.10 80 10.1.0.11 8080 weight 1",
      "new-destination TCP 241.0.0.10 80 10.2.0.11 8080 weight 1",
      "address add 241.0.0.10",
      'add element ip csp-ipvs served { 241.0.0.10 . tcp . 80 comment "demo/serve" }',
    ]);
  });

  test("a drained destination is deleted when its last connection has ended, and not before", () => {
    const world = both();
    world.set([service([A])]);
    assert.deepEqual(world.idle(), []);
    assert.deepEqual(world.idle("0a02000b 8080"), [
      "delete-destination TCP 241.0.0.10 80 10.2.0.11 8080",
    ]);
    assert.deepEqual(world.idle("0a02000b 8080", "0a01000b 8080"), []);
  });

  test("a withdrawn import keeps its connections, its server and its address until the last has ended", () => {
    const world = both();
    const lines = world.set([]);
    assert.ok(!lines.some((line) => /^(delete-server|address delete)/.test(line)), String(lines));
    assert.deepEqual(world.idle("0a01000b 8080"), [
      "delete-destination TCP 241.0.0.10 80 10.1.0.11 8080",
    ]);
    assert.deepEqual(world.idle("0a02000b 8080"), [
      "delete-destination TCP 241.0.0.10 80 10.2.0.11 8080",
      "delete-server TCP 241.0.0.10 80",
      "address delete 241.0.0.10",
    ]);
    assert.equal(world.held.get(VIP), undefined);
  });

  test("a VIP that an import lost before a restart goes with its last connection", () => {
    const world = both();
    world.set([]);
    const { digest } = world.held.get(VIP) ?? assert.fail();
    // The kernel does not show that it is leaving.
    world.held.set(VIP, { digest: digest.replace("al\n", "a\n") });
    assert.deepEqual(world.restart([]), []);
    const lines = world.idle("0a01000b 8080", "0a02000b 8080");
    assert.equal(lines.at(-1), "address delete 241.0.0.10");
  });

  test("UDP destinations drain while they are ready, and are then deleted at once; those of a deleted import, too", () => {
    const udp = (keeps: readonly string[]) => ({ protocol: "UDP", keeps }) as const;
    const world = both(udp([]));
    assert.deepEqual(world.set([service([A], udp(["10.2.0.11:8080"]))]), [
      "set-destination UDP 241.0.0.10 80 10.2.0.11 8080 weight 0",
    ]);
    assert.deepEqual(world.set([service([A], udp([]))]), [
      "delete-destination UDP 241.0.0.10 80 10.2.0.11 8080",
    ]);
    const last = world.set([service([], udp([]))]);
    assert.ok(last.includes("delete-server UDP 241.0.0.10 80"), String(last));
  });

  test("if resets are requested, unlisted destinations are deleted at once, and listed ones are drained", () => {
    const keeps = ["10.1.0.11:8080", "10.2.0.11:8080"];
    const world = both({ keeps });
    assert.deepEqual(world.set([service([A], { keeps })]), [
      "set-destination TCP 241.0.0.10 80 10.2.0.11 8080 weight 0",
    ]);
    assert.deepEqual(world.set([service([A], { keeps: ["10.1.0.11:8080"] })]), [
      "delete-destination TCP 241.0.0.10 80 10.2.0.11 8080",
    ]);
  });

  test("a VIP whose connections drain comes back after another program deleted it, also after a restart", () => {
    for (const [vip, hex] of [
      ["241.0.0.10", VIP],
      ["1.2.3.4", "01020304"],
    ] as const) {
      const world = new World();
      world.set([service([A], { vips: [vip] })]);
      const held = parseVip(world.held.get(hex)?.digest);
      world.held.set(hex, { digest: vipText({ ...held, isOnDevice: false }) ?? "" });
      const lines = world.restart([]);
      assert.ok(lines.includes(`address add ${vip}`), lines.join("\n"));
      assert.ok(!lines.some((line) => line.includes("explicit")), "the guard still knows it");
      assert.ok(parseVip(world.held.get(hex)?.digest).isLeaving);
    }
  });

  test("kept servers are neither written nor drained", () => {
    const world = both();
    assert.deepEqual(world.restart([], [service([A, B])]), []);
    const other = service([A], { port: 81 });
    const lines = world.restart([other], [service([A, B])]);
    assert.ok(!lines.some((line) => line.includes(" 80 ")), String(lines));
  });

  test("a changed sysctl is set as the last step, and then has the right value", () => {
    const world = both();
    world.held.set(SETTINGS_ID, { digest: "net.ipv4.vs.conntrack" });
    const lines = world.restart([service([A])]);
    assert.equal(lines.at(-1), "sysctl net.ipv4.vs.conntrack=1");
    assert.ok(lines.length > 1);
    assert.deepEqual(world.set([service([A])]), []);
  });
});

test("a server of an earlier release keeps rr until its destinations have different weights", () => {
  const world = both();
  const { digest } = world.held.get(VIP) ?? assert.fail();
  const restarted = (services: readonly VirtualService[]) => {
    world.held.set(VIP, { digest: digest.replace("|wrr ", "|rr ") });
    return world.restart(services);
  };
  assert.deepEqual(restarted([service([A, B])]), []);
  const shares = (c1: number, c2: number) => [
    { cluster: "c1", weight: c1 },
    { cluster: "c2", weight: c2 },
  ];
  assert.deepEqual(restarted([service([A, B], { shares: shares(1, 1) })]), []);
  assert.deepEqual(restarted([service([A, B], { shares: shares(1, 2) })]), [
    "set-server TCP 241.0.0.10 80 wrr flags 32 timeout 0",
    "set-destination TCP 241.0.0.10 80 10.2.0.11 8080 weight 2",
  ]);
  assert.deepEqual(restarted([service([A, B], { affinitySeconds: 60 })]), [
    "set-server TCP 241.0.0.10 80 wrr flags 33 timeout 60",
  ]);
});

describe("the desired state of IPVS", () => {
  test("a VIP that passes from one import to another is never deleted in between", () => {
    const ruleset = BACKEND.ruleset();
    const held: Held = new Map();
    const service = virtualService({ importKey: "a/a" });
    ruleset.set("a/a", [service]);
    finished(BACKEND.diff(held, finished(ruleset.take()))).settle(held);
    ruleset.set("b/b", [{ ...service, importKey: "b/b" }]);
    ruleset.set("a/a", []);
    const tx = finished(BACKEND.diff(held, finished(ruleset.take())));
    assert.deepEqual(String(tx).split("\n"), [
      "delete element ip csp-ipvs served { 241.0.0.10 . tcp . 80 }",
      'add element ip csp-ipvs served { 241.0.0.10 . tcp . 80 comment "b/b" }',
    ]);
  });

  test("schedulers by client fall back to another destination when theirs is drained", () => {
    const flags = SCHEDULERS.map((one) => renderPort(virtualService(), one).terms.flags);
    assert.deepEqual(flags, [0x20, 0x20, 0x28, 0x28, 0x20]);
  });

  test("an import may name a scheduler of its own", () => {
    const { terms } = renderPort(virtualService({ scheduler: "lc" }), "rr");
    assert.equal(terms.scheduler, "lc");
  });
});

test("weights are integers in the ratio of the shares: exact, or rounded to the nearest where one would be beyond 65,535", () =>
  forMany(1000, [anyShared], ({ service, shareOf }) => {
    const weights = weightsOf(service);
    const most = Math.max(...weights.values());
    const perShare = most / Math.max(...service.endpoints.map(shareOf));
    const tolerance = most === 65_535 ? 0.5 : 0;
    for (const [endpoint, weight] of weights) {
      assert.ok(Number.isInteger(weight) && weight >= 1 && weight <= 65_535, `${weight}`);
      const exact = Math.max(1, shareOf(endpoint) * perShare);
      assert.ok(Math.abs(weight - exact) <= tolerance + exact * 1e-12, `${weight} ${exact}`);
    }
    assert.equal(weights.size, service.endpoints.length);
  }));

test("small integers stay small", () => {
  const endpoint = (address: string, cluster: string) => ({
    ...{ address, cluster, port: 80 },
  });
  const endpoints = [
    endpoint("10.1.0.1", "c1"),
    endpoint("10.2.0.1", "c2"),
    endpoint("10.2.0.2", "c2"),
  ];
  const shares = [
    { cluster: "c1", weight: 9 },
    { cluster: "c2", weight: 1 },
  ];
  const weights = weightsOf(virtualService({ endpoints, shares }));
  assert.deepEqual([...weights.values()], [18, 1, 1]);
  const equal = weightsOf(virtualService({ endpoints }));
  assert.deepEqual([...equal.values()], [1, 1, 1]);
});

test("a line has at most 500 elements", () => {
  const many = new Set(Array.from({ length: 1001 }, (_, i) => `${i}`));
  const lines = elementLines("ip t", "s", new Set<string>(), many, (key: string) => key);
  assert.deepEqual(
    lines.map((line) => line.split(",").length),
    [500, 500, 1],
  );
});
