import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { virtualService } from "../../../test/support/services.ts";
import { cidr } from "../../../test/support/worlds.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { diff, diffIdle } from "./diff.ts";
import type { GuardOptions } from "./guard.ts";
import { IpvsRuleset } from "./ruleset.ts";
import { SETTINGS } from "./settings.ts";
import { type Believed, nothing } from "./state.ts";

const OPTIONS: GuardOptions = {
  family: "IPv4",
  clusterSetCidr: cidr("241.0.0.0/8"),
  masquerade: { mode: "none", podCidrs: [] },
};
const A = { address: "10.1.0.11", port: 8080, cluster: "c1", maybeHere: true };
const B = { address: "10.2.0.11", port: 8080, cluster: "c2", maybeHere: false };
const KEY = "demo/serve";

/** A kernel, and the agent that writes to it. */
class World {
  readonly believed: Believed = nothing();
  #ruleset = new IpvsRuleset("rr");

  /** What is done for these services of one import, in the order in which it is done; the table itself left out. */
  set(services: readonly VirtualService[], kept: readonly VirtualService[] = []): string[] {
    this.#ruleset.set(KEY, services, { kept });
    return this.#apply();
  }

  /** A new process, which wants these. */
  restart(services: readonly VirtualService[], kept: readonly VirtualService[] = []): string[] {
    this.#ruleset = new IpvsRuleset("rr");
    return this.set(services, kept);
  }

  /** The kernel is asked which drained destinations have no connections: these have none. */
  idle(...keys: readonly string[]): string[] {
    for (const [name, server] of this.believed.servers) {
      const destinations = [...server.destinations].map(
        ([key, one]) => [key, { ...one, idle: one.weight === 0 && keys.includes(key) }] as const,
      );
      this.believed.servers.set(name, { ...server, destinations: new Map(destinations) });
    }
    const tx = diffIdle(this.believed, OPTIONS);
    tx.settle(this.believed);
    return linesOf(String(tx));
  }

  #apply(): string[] {
    const tx = diff(this.believed, this.#ruleset.take(), OPTIONS);
    const lines = linesOf(String(tx));
    const nothing = lines.length === 0 && !String(tx).includes("table");
    assert.equal(tx.steps.length === 0, nothing);
    assert.ok(nothing || !tx.empty);
    tx.settle(this.believed);
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

describe("what is done for a change, and in which order", () => {
  test("a new service: its destinations, its address, and only then the guard lets connections in", () => {
    assert.deepEqual(new World().set([service([A, B])]), [
      "add element ip csp-ipvs hairpins { 10.1.0.11 . 10.1.0.11 }",
      "new-server TCP 241.0.0.10 80 rr flags 32 timeout 0",
      "new-destination TCP 241.0.0.10 80 10.1.0.11 8080 weight 1",
      "new-destination TCP 241.0.0.10 80 10.2.0.11 8080 weight 1",
      "address add 241.0.0.10",
      'add element ip csp-ipvs served { 241.0.0.10 . tcp . 80 comment "demo/serve" }',
    ]);
  });

  test("an explicit VIP is on the device only while the guard knows it", () => {
    const explicit = service([B], { vips: ["1.2.3.4"] });
    const world = new World();
    const lines = world.set([explicit]);
    const known = lines.indexOf("add element ip csp-ipvs explicit { 1.2.3.4 }");
    assert.ok(known >= 0 && known < lines.indexOf("address add 1.2.3.4"));
    world.set([]);
    const gone = world.idle("0a02000b 8080");
    const forgotten = gone.indexOf("delete element ip csp-ipvs explicit { 1.2.3.4 }");
    assert.ok(gone.indexOf("address delete 1.2.3.4") < forgotten);
  });

  test("an endpoint that leaves takes nothing new, and keeps what it has, after the others are there", () => {
    const world = new World();
    world.set([service([A])]);
    assert.deepEqual(world.set([service([B])]), [
      "new-destination TCP 241.0.0.10 80 10.2.0.11 8080 weight 1",
      "set-destination TCP 241.0.0.10 80 10.1.0.11 8080 weight 0",
      "delete element ip csp-ipvs hairpins { 10.1.0.11 . 10.1.0.11 }",
    ]);
  });

  test("one that returns while it is drained takes connections again, and loses none", () => {
    const world = both();
    world.set([service([A])]);
    assert.deepEqual(world.set([service([A, B])]), [
      "set-destination TCP 241.0.0.10 80 10.2.0.11 8080 weight 1",
    ]);
  });

  test("what is drained is deleted when its last connection has ended, and not before", () => {
    const world = both();
    world.set([service([A])]);
    assert.deepEqual(world.idle(), []);
    assert.deepEqual(world.idle("0a02000b 8080"), [
      "delete-destination TCP 241.0.0.10 80 10.2.0.11 8080",
    ]);
    assert.deepEqual(world.idle("0a02000b 8080", "0a01000b 8080"), []);
  });

  test("without endpoints the guard closes first, and connections stay", () => {
    const world = both();
    assert.deepEqual(world.set([service([])]), [
      "delete element ip csp-ipvs served { 241.0.0.10 . tcp . 80 }",
      "set-destination TCP 241.0.0.10 80 10.1.0.11 8080 weight 0",
      "set-destination TCP 241.0.0.10 80 10.2.0.11 8080 weight 0",
      "delete element ip csp-ipvs hairpins { 10.1.0.11 . 10.1.0.11 }",
    ]);
    assert.deepEqual(world.set([service([B])]), [
      "set-destination TCP 241.0.0.10 80 10.2.0.11 8080 weight 1",
      'add element ip csp-ipvs served { 241.0.0.10 . tcp . 80 comment "demo/serve" }',
    ]);
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
    assert.deepEqual(world.believed.servers.size + world.believed.vips.size, 0);
  });

  test("a VIP that is wanted again stays", () => {
    const world = both();
    world.set([]);
    world.set([service([A])]);
    assert.deepEqual(world.idle("0a02000b 8080"), [
      "delete-destination TCP 241.0.0.10 80 10.2.0.11 8080",
    ]);
    assert.deepEqual([...world.believed.vips], ["f100000a"]);
  });

  test("UDP has no connections to keep: what leaves is deleted at once", () => {
    const world = both({ protocol: "UDP" });
    assert.deepEqual(world.set([service([A], { protocol: "UDP" })]), [
      "delete-destination UDP 241.0.0.10 80 10.2.0.11 8080",
    ]);
    const last = world.set([service([], { protocol: "UDP" })]);
    assert.ok(last.includes("delete-server UDP 241.0.0.10 80"), String(last));
  });

  test("where resets are asked for, what no slice lists is deleted at once, and what one lists is drained", () => {
    const listed = ["10.1.0.11:8080", "10.2.0.11:8080"];
    const world = both({ listed });
    assert.deepEqual(world.set([service([A], { listed })]), [
      "set-destination TCP 241.0.0.10 80 10.2.0.11 8080 weight 0",
    ]);
    assert.deepEqual(world.set([service([A], { listed: ["10.1.0.11:8080"] })]), [
      "delete-destination TCP 241.0.0.10 80 10.2.0.11 8080",
    ]);
  });

  test("affinity is persistence for as many seconds, and other terms are set, not made anew", () => {
    const world = both();
    assert.deepEqual(world.set([service([A, B], { affinitySeconds: 600 })]), [
      "set-server TCP 241.0.0.10 80 rr flags 33 timeout 600",
    ]);
  });

  test("a restart that wants what there is does nothing; one that wants less drains it", () => {
    const world = both();
    assert.deepEqual(world.restart([service([A, B])]), []);
    const lines = world.restart([]);
    assert.ok(lines.includes("set-destination TCP 241.0.0.10 80 10.1.0.11 8080 weight 0"));
  });

  test("what is kept is neither written nor drained, whatever else is done", () => {
    const world = both();
    assert.deepEqual(world.restart([], [service([A, B])]), []);
    const other = service([A], { port: 81 });
    const lines = world.restart([other], [service([A, B])]);
    assert.ok(!lines.some((line) => line.includes(" 80 ")), String(lines));
  });

  test("a switch that somebody has turned off is set when all else is done, and then it is right", () => {
    const world = both();
    const setting = SETTINGS[0] ?? assert.fail();
    world.believed.wrong = [setting];
    const lines = world.set([service([A])]);
    assert.equal(lines.at(-1), "sysctl net.ipv4.vs.conntrack=1");
    assert.ok(lines.length > 1);
    assert.deepEqual(world.set([service([A])]), []);
  });

  test("a server of somebody else on a VIP of ours is let be, also if its port is wanted", () => {
    const world = both();
    const foreign = { terms: { scheduler: "rr", flags: 0, timeout: 0 }, destinations: new Map() };
    world.believed.servers.set("f100000a TCP 30080", foreign);
    assert.deepEqual(world.restart([service([A, B])]), []);
    assert.deepEqual(world.idle(), []);
    const lines = world.set([service([A, B]), service([A], { port: 30080 })]);
    assert.deepEqual(lines, []);
    assert.deepEqual(world.believed.servers.get("f100000a TCP 30080"), foreign);
  });
});
