import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SCHEDULERS } from "../../../api/scheduler.ts";
import { cidr } from "../../../test/generators/facts.ts";
import { forMany } from "../../../test/generators/for-all.ts";
import { virtualService } from "../../../test/generators/services.ts";
import { anyShared } from "../../../test/generators/shared-services.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { finished } from "../backend.ts";
import { IpvsRuleset } from "./backend.ts";
import { diff, diffGarbage } from "./diff.ts";
import type { GuardOptions } from "./guard.ts";
import { weightsOf } from "./render.ts";
import { SETTINGS } from "./settings.ts";
import { type DesiredServer, draining, type KernelState, nothing } from "./state.ts";

const OPTIONS: GuardOptions = {
  family: "IPv4",
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  masquerade: { mode: "none", podCidrs: [] },
};
const A = { address: "10.1.0.11", port: 8080, cluster: "c1" };
const B = { address: "10.2.0.11", port: 8080, cluster: "c2" };
const KEY = "demo/serve";

/** A kernel, and the agent that writes to it. */
class World {
  readonly state: KernelState = nothing();
  #ruleset = new IpvsRuleset("rr");

  /** What is done for these services of one import, in the order in which it is done; the table itself left out. */
  set(services: readonly VirtualService[], kept: readonly VirtualService[] = []): string[] {
    this.#ruleset.set(KEY, services, { kept });
    return this.#apply();
  }

  /** A new process with these desired services. */
  restart(services: readonly VirtualService[], kept: readonly VirtualService[] = []): string[] {
    this.#ruleset = new IpvsRuleset("rr");
    return this.set(services, kept);
  }

  /** A check finds that these draining destinations have no connections. */
  idle(...keys: readonly string[]): string[] {
    const found = [...this.state.servers].map(([name, server]) => {
      const destinations = [...server.destinations].map(
        ([key, one]) => [key, { ...one, idle: one.weight === 0 && keys.includes(key) }] as const,
      );
      return [name, new Map(destinations)] as const;
    });
    const drains = draining(this.state);
    const tx = diffGarbage(this.state, drains, new Map(found), false, OPTIONS);
    tx.settle(this.state);
    return linesOf(String(tx));
  }

  #apply(): string[] {
    const tx = finished(diff(this.state, finished(this.#ruleset.take()), OPTIONS));
    const lines = linesOf(String(tx));
    const nothing = lines.length === 0 && !String(tx).includes("table");
    assert.equal(tx.steps.length === 0, nothing);
    assert.ok(nothing || !tx.empty);
    tx.settle(this.state);
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
    assert.deepEqual(world.state.servers.size + world.state.vips.size, 0);
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
    for (const vip of ["241.0.0.10", "1.2.3.4"]) {
      const world = new World();
      world.set([service([A], { vips: [vip] })]);
      world.state.vips.clear();
      const lines = world.restart([]);
      assert.ok(lines.includes(`address add ${vip}`), lines.join("\n"));
      assert.ok(!lines.some((line) => line.includes("explicit")), "the guard still knows it");
      assert.deepEqual(world.state.leaving.size, 1);
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
    const setting = SETTINGS[0] ?? assert.fail();
    world.state.wrong = [setting];
    const lines = world.set([service([A])]);
    assert.equal(lines.at(-1), "sysctl net.ipv4.vs.conntrack=1");
    assert.ok(lines.length > 1);
    assert.deepEqual(world.set([service([A])]), []);
  });
});

test("a server of an earlier release keeps rr until its destinations have different weights", () => {
  const world = both();
  const [[key, server] = assert.fail()] = world.state.servers;
  const restarted = (services: readonly VirtualService[]) => {
    world.state.servers.set(key, { ...server, terms: { ...server.terms, scheduler: "rr" } });
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

function settle(state: KernelState, ruleset: IpvsRuleset): void {
  finished(diff(state, finished(ruleset.take()), OPTIONS)).settle(state);
}

function desiredServers(ruleset: IpvsRuleset): DesiredServer[] {
  const servers = [...finished(ruleset.take()).services.values()];
  return servers.filter((server) => typeof server === "object");
}

describe("the desired state of IPVS", () => {
  test("a VIP that passes from one import to another is never deleted in between", () => {
    const ruleset = new IpvsRuleset("rr");
    const state = nothing();
    const service = virtualService({ importKey: "a/a" });
    ruleset.set("a/a", [service]);
    settle(state, ruleset);
    ruleset.set("b/b", [{ ...service, importKey: "b/b" }]);
    ruleset.set("a/a", []);
    const tx = finished(diff(state, finished(ruleset.take()), OPTIONS));
    assert.deepEqual(String(tx).split("\n"), [
      "delete element ip csp-ipvs served { 241.0.0.10 . tcp . 80 }",
      'add element ip csp-ipvs served { 241.0.0.10 . tcp . 80 comment "b/b" }',
    ]);
  });

  test("schedulers by client fall back to another destination when theirs is drained", () => {
    const flags = SCHEDULERS.map((scheduler) => {
      const ruleset = new IpvsRuleset(scheduler);
      ruleset.set("demo/serve", [virtualService()]);
      return desiredServers(ruleset).map(({ terms }) => terms.flags);
    });
    assert.deepEqual(flags, [[0x20], [0x20], [0x28], [0x28], [0x20]]);
  });

  test("an import may name a scheduler of its own", () => {
    const ruleset = new IpvsRuleset("rr");
    ruleset.set("demo/serve", [virtualService({ scheduler: "lc" })]);
    const [server] = desiredServers(ruleset);
    assert.equal(server?.terms.scheduler, "lc");
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
