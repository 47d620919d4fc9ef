import assert from "node:assert/strict";
import { test } from "node:test";
import { problemText } from "../../api/problem.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { Recovery } from "../../common/kubernetes/recovery.ts";
import type { ReflectorEvents } from "../../common/kubernetes/reflector-events.ts";
import { HubMemberSource } from "./hub-member-source.ts";

const HUB: ApiServer = {
  address: "https://hub",
  recovery: new Recovery(),
  request: () => Promise.reject(new Error("no request is expected")),
  close: () => Promise.resolve(),
};

/** A source of members from namespaces, and what it has reported. */
class Reported {
  readonly lines: string[] = [];
  known: readonly string[] = [];
  events: ReflectorEvents | undefined;
  readonly source = new HubMemberSource({
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
    events: {
      joined: (id, { endpointCidrs }) =>
        this.lines.push(`+${id} ${endpointCidrs.map(({ text }) => text).join()}`.trim()),
      named: (id) => this.lines.push(`?${id}`),
      drained: (id, object, drain) =>
        this.lines.push(`${object}: ${id} ${drain?.by ?? "in rotation"}`),
      left: (id) => this.lines.push(`-${id}`),
      listed: () => this.lines.push("listed"),
      state: () => undefined,
      problems: (_object, problems) => this.lines.push(...problems.map(problemText)),
    },
  });

  /** A namespace is listed with this ID. */
  namespace(name: string, id: string, more: object = {}): string[] {
    const labels = { "clusterset-proxy.io/registry": id };
    const annotations = { "clusterset-proxy.io/endpoint-cidrs": "10.2.0.0/16" };
    this.events?.changed(name, { metadata: { name, labels, annotations, ...more } }, 0);
    return this.lines.splice(0);
  }

  /** The namespace of c2 is listed with these ranges. */
  ranges(text?: string): string[] {
    const annotations = { "clusterset-proxy.io/endpoint-cidrs": text };
    return this.namespace("clusterset-registry-c2", "c2", { annotations });
  }

  removed(name: string): string[] {
    this.events?.removed(name, 0);
    return this.lines.splice(0);
  }
}

test("a cluster is a member of a hub while its namespace exists", () => {
  const reported = new Reported();
  assert.deepEqual(reported.namespace("clusterset-registry-c2", "c2"), ["+c2 10.2.0.0/16"]);
  assert.deepEqual(reported.namespace("clusterset-registry-c2", "c2"), [], "nothing new");
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  assert.deepEqual(reported.namespace("clusterset-registry-c2", "c2", { deletionTimestamp }), [
    "-c2",
  ]);
  assert.deepEqual(reported.removed("clusterset-registry-c2"), []);
  assert.deepEqual(reported.namespace("clusterset-registry-c3", "c3"), ["+c3 10.2.0.0/16"]);
  assert.deepEqual(reported.removed("clusterset-registry-c3"), ["-c3"]);
});

test("a namespace with the name of another cluster adds no member", () => {
  const reported = new Reported();
  const misplaced = (name: string) => [
    `Namespace ${name}: metadata.name: misplaced: ${JSON.stringify(name)}`,
  ];
  for (const name of ["clusterset-registry-c3", "shop"]) {
    assert.deepEqual(reported.namespace(name, "c2"), misplaced(name));
  }
  assert.match(reported.namespace("clusterset-registry-c2", "C2").join(), /invalid-label/);
});

test("the hub's informer gets the members from before a restart", () => {
  assert.deepEqual(new Reported().known, ["clusterset-registry-c2"]);
});

test("changed endpoint ranges of a member apply; invalid ranges change nothing", () => {
  const reported = new Reported();
  assert.deepEqual(reported.ranges("10.2.0.0/16"), ["+c2 10.2.0.0/16"]);
  assert.deepEqual(reported.ranges("10.2.0.0/16"), [], "nothing new");
  assert.deepEqual(reported.ranges("10.2.0.0/16, fd00:2::/48"), ["+c2 10.2.0.0/16,fd00:2::/48"]);
  assert.match(
    reported.ranges("10.2.0.0/99").join(),
    /^Namespace .*: invalid-cidr: "10.2.0.0\/99"$/,
  );
  assert.deepEqual(reported.ranges("10.2.0.0/16, fd00:2::/48"), [], "as it was before");
  assert.match(reported.ranges().join(), /: endpoint-cidrs-missing: undefined$/);
  assert.deepEqual(reported.ranges("10.2.0.0/16, fd00:2::/48"), [], "as it was before");
  const open = reported.ranges("0.0.0.0/0,::/0");
  assert.match(open[0] ?? "", /: endpoint-cidrs-open: "0\.0\.0\.0\/0"$/);
  assert.equal(open.at(-1), "+c2 0.0.0.0/0,::/0");
});

test("a member with invalid ranges from the start is not read until they are valid", () => {
  const reported = new Reported();
  assert.match(reported.ranges("everywhere").join(), /: invalid-cidr: "everywhere",\?c2$/);
  assert.match(reported.ranges("10.2.3.4/16").join(), /invalid-cidr: "10.2.3.4\/16"$/);
  assert.deepEqual(reported.ranges("10.2.0.0/16"), ["+c2 10.2.0.0/16"]);
  assert.deepEqual(reported.removed("clusterset-registry-c2"), ["-c2"]);
});

test("a drain on a namespace is reported once, and ends with the annotation or the namespace", () => {
  const reported = new Reported();
  const name = "clusterset-registry-c2";
  const drained = (text?: string) =>
    reported.namespace(name, "c2", {
      annotations: {
        "clusterset-proxy.io/endpoint-cidrs": "10.2.0.0/16",
        "clusterset-proxy.io/drain": text,
      },
    });
  const drain = "from=2026-11-24T04:00:00Z; for=2h; by=ann";
  const over = `Namespace ${name}: c2 in rotation`;
  assert.deepEqual(drained(drain), ["+c2 10.2.0.0/16", `Namespace ${name}: c2 ann`]);
  assert.deepEqual(drained(drain), [], "nothing new");
  assert.deepEqual(drained(), [over]);
  drained(drain);
  const [problem, ended] = drained("true");
  assert.match(problem ?? "", /: invalid-drain: "true"$/);
  assert.equal(ended, over);
  drained(drain);
  assert.deepEqual(reported.removed(name), [over, "-c2"]);
});
