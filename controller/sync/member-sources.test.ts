import assert from "node:assert/strict";
import { test } from "node:test";
import { problemText } from "../../api/problem.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { Recovery } from "../../common/kubernetes/recovery.ts";
import type { ReflectorEvents } from "../../common/kubernetes/reflector-events.ts";
import type { Follow } from "../stores/informer.ts";
import { HubMemberSource } from "./hub-member-source.ts";
import type { MemberSourceEvents } from "./member-source-events.ts";
import { SecretMemberSource } from "./secret-member-source.ts";

const RANGES = "clusterset-proxy.io/endpoint-cidrs";

/** What a source of members has reported, and the events of what it lists. */
class Reported {
  readonly lines: string[] = [];
  known: readonly string[] = [];
  listing: ReflectorEvents | undefined;
  readonly follow: Follow = (_query, events, known) => {
    this.listing = events;
    this.known = [...known];
    return {
      start: () => undefined,
      stop: () => Promise.resolve(),
      wrote: () => undefined,
      found: () => undefined,
      erased: () => undefined,
      rewound: () => undefined,
    };
  };
  readonly events: MemberSourceEvents = {
    joined: (id, { endpointCidrs }) =>
      this.lines.push(`+${id} ${endpointCidrs.map(({ text }) => text).join()}`.trim()),
    named: (id) => this.lines.push(`?${id}`),
    drained: (id, object, drain) =>
      this.lines.push(`${object}: ${id} ${drain?.by ?? "in rotation"}`),
    left: (id) => this.lines.push(`-${id}`),
    listed: () => this.lines.push("listed"),
    state: () => undefined,
    problems: (_object, problems) => this.lines.push(...problems.map(problemText)),
  };

  removed(key: string): string[] {
    this.listing?.removed(key, 0);
    return this.lines.splice(0);
  }
}

const HUB: ApiServer = {
  address: "https://hub",
  recovery: new Recovery(),
  request: () => Promise.reject(new Error("no request is expected")),
  close: () => Promise.resolve(),
};

/** Members from namespaces of a hub. */
class Hub extends Reported {
  readonly source = new HubMemberSource({
    hub: HUB,
    known: ["clusterset-registry-c2"],
    follow: this.follow,
    events: this.events,
  });

  /** A namespace is listed with this ID. */
  namespace(name: string, id: string, more: object = {}): string[] {
    const labels = { "clusterset-proxy.io/registry": id };
    const annotations = { [RANGES]: "10.2.0.0/16" };
    this.listing?.changed(name, { metadata: { name, labels, annotations, ...more } }, 0);
    return this.lines.splice(0);
  }

  /** The namespace of c2 is listed with these ranges. */
  ranges(text?: string): string[] {
    return this.namespace("clusterset-registry-c2", "c2", { annotations: { [RANGES]: text } });
  }
}

test("a cluster is a member of a hub while its namespace exists", () => {
  const reported = new Hub();
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
  const reported = new Hub();
  const misplaced = (name: string) => [
    `Namespace ${name}: metadata.name: misplaced: ${JSON.stringify(name)}`,
  ];
  for (const name of ["clusterset-registry-c3", "shop"]) {
    assert.deepEqual(reported.namespace(name, "c2"), misplaced(name));
  }
  assert.match(reported.namespace("clusterset-registry-c2", "C2").join(), /invalid-label/);
});

test("the hub's informer gets the members from before a restart", () => {
  assert.deepEqual(new Hub().known, ["clusterset-registry-c2"]);
});

test("changed endpoint ranges of a member apply; invalid ranges change nothing", () => {
  const reported = new Hub();
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
  const reported = new Hub();
  assert.match(reported.ranges("everywhere").join(), /: invalid-cidr: "everywhere",\?c2$/);
  assert.match(reported.ranges("10.2.3.4/16").join(), /invalid-cidr: "10.2.3.4\/16"$/);
  assert.deepEqual(reported.ranges("10.2.0.0/16"), ["+c2 10.2.0.0/16"]);
  assert.deepEqual(reported.removed("clusterset-registry-c2"), ["-c2"]);
});

test("a drain on a namespace is reported once, and ends with the annotation or the namespace", () => {
  const reported = new Hub();
  const name = "clusterset-registry-c2";
  const drained = (text?: string) =>
    reported.namespace(name, "c2", {
      annotations: {
        [RANGES]: "10.2.0.0/16",
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

/** Members from Secrets. */
class Secrets extends Reported {
  readonly source = new SecretMemberSource({
    namespace: "clusterset-proxy",
    known: ["c2", "c3"],
    follow: this.follow,
    connect: () => Promise.reject(new ApiFault("unreachable", "reached")),
    events: this.events,
  });

  /** A Secret with this label and content; without a label: deleted. */
  secret(
    name: string,
    label?: string,
    kubeconfig = "k",
    cidrs = "10.2.0.0/16",
    more: Readonly<Record<string, string>> = {},
  ): string[] {
    const key = `clusterset-proxy/${name}`;
    if (label === undefined) return this.removed(key);
    else {
      const metadata = {
        namespace: "clusterset-proxy",
        name,
        labels: { "clusterset-proxy.io/peer": label },
        annotations: { [RANGES]: cidrs, ...more },
      };
      const data = kubeconfig === "" ? {} : { kubeconfig: btoa(kubeconfig) };
      this.listing?.changed(key, { metadata, data }, 0);
    }
    return this.lines.splice(0);
  }

  listed(): string[] {
    this.listing?.listed();
    return this.lines.splice(0);
  }
}

test("a peer is added with its Secret, added again when the content changes, and removed with it", () => {
  const reported = new Secrets();
  assert.deepEqual(reported.secret("a", "c2"), ["+c2 10.2.0.0/16"]);
  assert.deepEqual(reported.secret("a", "c2"), [], "nothing new");
  assert.deepEqual(reported.secret("a", "c2", "another token"), ["+c2 10.2.0.0/16"]);
  assert.deepEqual(reported.secret("a", "c2", "another token", "10.3.0.0/16"), ["+c2 10.3.0.0/16"]);
  assert.deepEqual(reported.listed(), ["listed"]);
  assert.equal(reported.secret("a", "c3").join(), "-c2,+c3 10.2.0.0/16,listed");
  assert.equal(reported.secret("a").join(), "-c3,listed");
});

test("of two Secrets for one peer the first by name is used, and the other is reported", () => {
  const reported = new Secrets();
  assert.deepEqual(reported.secret("b", "c2", "second"), ["+c2 10.2.0.0/16"]);
  const [joined, problem] = reported.secret("a", "c2", "first").toReversed();
  assert.equal(joined, "+c2 10.2.0.0/16");
  assert.match(problem ?? "", /Secret clusterset-proxy\/b: .*: duplicate-object: "c2"/);
  assert.equal(reported.secret("a").join(), "+c2 10.2.0.0/16", "the second one is used");
});

test("a Secret that becomes invalid changes nothing", () => {
  const reported = new Secrets();
  reported.secret("a", "c2");
  assert.match(
    reported.secret("a", "c2", "").join(),
    /^Secret clusterset-proxy\/a: data.kubeconfig: invalid-object/,
  );
});

test("a Secret that was never valid names a member without a connection", () => {
  const reported = new Secrets();
  const [, named] = reported.secret("a", "c2", "");
  assert.equal(named, "?c2");
  assert.deepEqual(reported.listed(), ["listed"]);
  assert.deepEqual(reported.secret("a", "c2"), ["+c2 10.2.0.0/16", "listed"]);
});

test("while a Secret names no cluster, the list of members is incomplete", () => {
  const reported = new Secrets();
  reported.secret("a", "C2!");
  assert.deepEqual(reported.listed(), []);
  assert.deepEqual(reported.secret("a", "c2"), ["+c2 10.2.0.0/16", "listed"]);
});

test("a first list without Secrets of known members is confirmed by a second one", () => {
  assert.deepEqual(new Secrets().known, ["clusterset-proxy/c2", "clusterset-proxy/c3"]);
});

test("a drain on a Secret is reported once, needs no other connection, and ends with the annotation or the Secret", () => {
  const reported = new Secrets();
  const drained = (by: string, kubeconfig = "k") => {
    const drain = `from=2026-11-24T04:00:00Z; for=2h; by=${by}`;
    return reported.secret("a", "c2", kubeconfig, "10.2.0.0/16", {
      "clusterset-proxy.io/drain": drain,
    });
  };
  reported.secret("a", "c2");
  assert.deepEqual(drained("ann"), ["Secret clusterset-proxy/a: c2 ann"]);
  assert.deepEqual(drained("ann"), [], "nothing new");
  const [problem, ...lines] = drained("bob", "");
  assert.match(problem ?? "", /data\.kubeconfig: invalid-object/);
  const over = "Secret clusterset-proxy/a: c2 in rotation";
  assert.deepEqual(lines, [over, "Secret clusterset-proxy/a: c2 bob"], "of an invalid Secret, too");
  assert.deepEqual(reported.secret("a", "c2"), [over]);
  drained("ann");
  assert.deepEqual(reported.secret("a"), [over, "-c2"]);
});
