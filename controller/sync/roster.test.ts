import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import type { ReflectorEvents } from "../../common/kubernetes/reflector-events.ts";
import { HubRoster } from "./roster.ts";

const HUB: ApiServer = {
  address: "https://hub",
  request: () => Promise.reject(new Error("nobody is asked")),
  close: () => Promise.resolve(),
};

/** A roster that is told of namespaces of a hub, and what it has told. */
class Told {
  readonly lines: string[] = [];
  known: readonly string[] = [];
  events: ReflectorEvents | undefined;
  readonly roster = new HubRoster({
    hub: HUB,
    known: ["clusterset-registry-c2"],
    follow: (_query, events, known) => {
      this.events = events;
      this.known = [...known];
      return {
        start: () => undefined,
        stop: () => Promise.resolve(),
        wrote: () => undefined,
        erased: () => undefined,
      };
    },
    told: {
      joined: (id) => this.lines.push(`+${id}`),
      left: (id) => this.lines.push(`-${id}`),
      listed: () => this.lines.push("listed"),
      state: () => undefined,
      problems: () => undefined,
    },
  });

  /** A namespace is there, with this id. */
  namespace(name: string, id: string, more: object = {}): string[] {
    const labels = { "clusterset-proxy.io/registry": id };
    this.events?.changed(name, { metadata: { name, labels, ...more } }, 0);
    return this.lines.splice(0);
  }

  removed(name: string): string[] {
    this.events?.removed(name, 0);
    return this.lines.splice(0);
  }
}

test("a cluster is a member of a hub from its namespace's appearance until it goes", () => {
  const told = new Told();
  assert.deepEqual(told.namespace("clusterset-registry-c2", "c2"), ["+c2"]);
  assert.deepEqual(told.namespace("clusterset-registry-c2", "c2"), [], "nothing new");
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  assert.deepEqual(told.namespace("clusterset-registry-c2", "c2", { deletionTimestamp }), ["-c2"]);
  assert.deepEqual(told.removed("clusterset-registry-c2"), []);
  assert.deepEqual(told.namespace("clusterset-registry-c3", "c3"), ["+c3"]);
  assert.deepEqual(told.removed("clusterset-registry-c3"), ["-c3"]);
});

test("no namespace speaks for a cluster whose name it does not bear", () => {
  const told = new Told();
  assert.deepEqual(told.namespace("clusterset-registry-c3", "c2"), []);
  assert.deepEqual(told.namespace("shop", "c2"), []);
  assert.deepEqual(told.namespace("clusterset-registry-C2", "C2"), []);
});

test("whoever follows the hub is told who were members before our restart, to miss them", () => {
  assert.deepEqual(new Told().known, ["clusterset-registry-c2"]);
});
