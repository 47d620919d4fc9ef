import assert from "node:assert/strict";
import { test } from "node:test";
import { problemText } from "../../api/problem.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ReflectorEvents } from "../../common/kubernetes/reflector-events.ts";
import { SecretRoster } from "./secret-roster.ts";

/** A roster that is told of Secrets, and what it has told. */
class Told {
  readonly lines: string[] = [];
  events: ReflectorEvents | undefined;
  known: readonly string[] = [];
  readonly roster = new SecretRoster({
    namespace: "clusterset-proxy",
    known: ["c2", "c3"],
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
    connect: () => Promise.reject(new ApiFault("unreachable", "reached")),
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

  /** A Secret is as it says; absent: gone. */
  secret(name: string, label?: string, kubeconfig = "k", cidrs?: string): string[] {
    const key = `clusterset-proxy/${name}`;
    if (label === undefined) this.events?.removed(key, 0);
    else {
      const metadata = {
        namespace: "clusterset-proxy",
        name,
        labels: { "clusterset-proxy.io/peer": label },
        ...(cidrs !== undefined && {
          annotations: { "clusterset-proxy.io/endpoint-cidrs": cidrs },
        }),
      };
      const data = kubeconfig === "" ? {} : { kubeconfig: btoa(kubeconfig) };
      this.events?.changed(key, { metadata, data }, 0);
    }
    return this.lines.splice(0);
  }

  listed(): string[] {
    this.events?.listed();
    return this.lines.splice(0);
  }
}

test("a peer joins with its Secret, again when that says something else, and leaves with it", () => {
  const told = new Told();
  assert.deepEqual(told.secret("a", "c2"), ["+c2"]);
  assert.deepEqual(told.secret("a", "c2"), [], "nothing new");
  assert.deepEqual(told.secret("a", "c2", "another token"), ["+c2"]);
  assert.deepEqual(told.secret("a", "c2", "another token", "10.2.0.0/16"), ["+c2 10.2.0.0/16"]);
  assert.deepEqual(told.listed(), ["listed"]);
  assert.equal(told.secret("a", "c3").join(), "-c2,+c3,listed");
  assert.equal(told.secret("a").join(), "-c3,listed");
});

test("of two Secrets for one peer the first by name counts, and the other is told of", () => {
  const told = new Told();
  assert.deepEqual(told.secret("b", "c2", "second"), ["+c2"]);
  const [joined, problem] = told.secret("a", "c2", "first").toReversed();
  assert.equal(joined, "+c2");
  assert.match(problem ?? "", /Secret clusterset-proxy\/b: .*: duplicate-object: "c2"/);
  assert.equal(told.secret("a").join(), "+c2", "the second takes its place");
});

test("a Secret that becomes wrong changes nothing", () => {
  const told = new Told();
  told.secret("a", "c2");
  assert.match(
    told.secret("a", "c2", "").join(),
    /^Secret clusterset-proxy\/a: data.kubeconfig: invalid-object/,
  );
});

test("a Secret that is wrong from the start still says that there is a member, whom nobody reaches", () => {
  const told = new Told();
  const [, named] = told.secret("a", "c2", "");
  assert.equal(named, "?c2");
  assert.deepEqual(told.listed(), ["listed"]);
  assert.deepEqual(told.secret("a", "c2"), ["+c2", "listed"]);
});

test("while a Secret does not say whom it means, it is not known who all members are", () => {
  const told = new Told();
  told.secret("a", "C2!");
  assert.deepEqual(told.listed(), []);
  assert.deepEqual(told.secret("a", "c2"), ["+c2", "listed"]);
});

test("a first list without Secrets of those who were members is looked at twice", () => {
  assert.deepEqual(new Told().known, ["clusterset-proxy/c2", "clusterset-proxy/c3"]);
});
