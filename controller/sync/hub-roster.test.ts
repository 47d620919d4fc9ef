import assert from "node:assert/strict";
import { test } from "node:test";
import { problemText } from "../../api/problem.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { Recovery } from "../../common/kubernetes/recovery.ts";
import type { ReflectorEvents } from "../../common/kubernetes/reflector-events.ts";
import { HubRoster } from "./hub-roster.ts";

const HUB: ApiServer = {
  address: "https://hub",
  recovery: new Recovery(),
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
        found: () => undefined,
        erased: () => undefined,
        rewound: () => undefined,
      };
    },
    told: {
      joined: (id, cidrs) =>
        this.lines.push(`+${id} ${cidrs.map(({ text }) => text).join()}`.trim()),
      named: (id) => this.lines.push(`?${id}`),
      left: (id) => this.lines.push(`-${id}`),
      listed: () => this.lines.push("listed"),
      state: () => undefined,
      problems: (_object, problems) => this.lines.push(...problems.map(problemText)),
    },
  });

  /** A namespace is there, with this id. */
  namespace(name: string, id: string, more: object = {}): string[] {
    const labels = { "clusterset-proxy.io/registry": id };
    this.events?.changed(name, { metadata: { name, labels, ...more } }, 0);
    return this.lines.splice(0);
  }

  /** The namespace of c2 is there, with these ranges. */
  ranges(text?: string): string[] {
    const annotations = { "clusterset-proxy.io/endpoint-cidrs": text };
    return this.namespace("clusterset-registry-c2", "c2", { annotations });
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
  const misplaced = (name: string) => [
    `Namespace ${name}: metadata.name: misplaced: ${JSON.stringify(name)}`,
  ];
  for (const name of ["clusterset-registry-c3", "shop"]) {
    assert.deepEqual(told.namespace(name, "c2"), misplaced(name));
  }
  assert.match(told.namespace("clusterset-registry-c2", "C2").join(), /invalid-label/);
});

test("whoever follows the hub is told who were members before our restart, to miss them", () => {
  assert.deepEqual(new Told().known, ["clusterset-registry-c2"]);
});

test("what is declared for a member is followed; what is no range changes nothing", () => {
  const told = new Told();
  assert.deepEqual(told.ranges("10.2.0.0/16"), ["+c2 10.2.0.0/16"]);
  assert.deepEqual(told.ranges("10.2.0.0/16"), [], "nothing new");
  assert.deepEqual(told.ranges("10.2.0.0/16, fd00:2::/48"), ["+c2 10.2.0.0/16,fd00:2::/48"]);
  assert.match(told.ranges("10.2.0.0/99").join(), /^Namespace .*: invalid-cidr: "10.2.0.0\/99"$/);
  assert.deepEqual(told.ranges("10.2.0.0/16, fd00:2::/48"), [], "as it was before");
  assert.deepEqual(told.ranges(), ["+c2"], "nothing is declared any more");
});

test("a member whose ranges are wrong from the start is one that is not read, until they are right", () => {
  const told = new Told();
  assert.match(told.ranges("everywhere").join(), /: invalid-cidr: "everywhere",\?c2$/);
  assert.match(told.ranges("10.2.3.4/16").join(), /invalid-cidr: "10.2.3.4\/16"$/);
  assert.deepEqual(told.ranges("10.2.0.0/16"), ["+c2 10.2.0.0/16"]);
  assert.deepEqual(told.removed("clusterset-registry-c2"), ["-c2"]);
});
