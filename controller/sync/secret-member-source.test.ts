import assert from "node:assert/strict";
import { test } from "node:test";
import { problemText } from "../../api/problem.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ReflectorEvents } from "../../common/kubernetes/reflector-events.ts";
import { SecretMemberSource } from "./secret-member-source.ts";

/** A source of members from Secrets, and what it has reported. */
class Reported {
  readonly lines: string[] = [];
  events: ReflectorEvents | undefined;
  known: readonly string[] = [];
  readonly source = new SecretMemberSource({
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

  /** A Secret with this label and content; without a label: deleted. */
  secret(
    name: string,
    label?: string,
    kubeconfig = "k",
    cidrs = "10.2.0.0/16",
    more: Readonly<Record<string, string>> = {},
  ): string[] {
    const key = `clusterset-proxy/${name}`;
    if (label === undefined) this.events?.removed(key, 0);
    else {
      const metadata = {
        namespace: "clusterset-proxy",
        name,
        labels: { "clusterset-proxy.io/peer": label },
        annotations: { "clusterset-proxy.io/endpoint-cidrs": cidrs, ...more },
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

test("a peer is added with its Secret, added again when the content changes, and removed with it", () => {
  const reported = new Reported();
  assert.deepEqual(reported.secret("a", "c2"), ["+c2 10.2.0.0/16"]);
  assert.deepEqual(reported.secret("a", "c2"), [], "nothing new");
  assert.deepEqual(reported.secret("a", "c2", "another token"), ["+c2 10.2.0.0/16"]);
  assert.deepEqual(reported.secret("a", "c2", "another token", "10.3.0.0/16"), ["+c2 10.3.0.0/16"]);
  assert.deepEqual(reported.listed(), ["listed"]);
  assert.equal(reported.secret("a", "c3").join(), "-c2,+c3 10.2.0.0/16,listed");
  assert.equal(reported.secret("a").join(), "-c3,listed");
});

test("of two Secrets for one peer the first by name is used, and the other is reported", () => {
  const reported = new Reported();
  assert.deepEqual(reported.secret("b", "c2", "second"), ["+c2 10.2.0.0/16"]);
  const [joined, problem] = reported.secret("a", "c2", "first").toReversed();
  assert.equal(joined, "+c2 10.2.0.0/16");
  assert.match(problem ?? "", /Secret clusterset-proxy\/b: .*: duplicate-object: "c2"/);
  assert.equal(reported.secret("a").join(), "+c2 10.2.0.0/16", "the second one is used");
});

test("a Secret that becomes invalid changes nothing", () => {
  const reported = new Reported();
  reported.secret("a", "c2");
  assert.match(
    reported.secret("a", "c2", "").join(),
    /^Secret clusterset-proxy\/a: data.kubeconfig: invalid-object/,
  );
});

test("a Secret that was never valid names a member without a connection", () => {
  const reported = new Reported();
  const [, named] = reported.secret("a", "c2", "");
  assert.equal(named, "?c2");
  assert.deepEqual(reported.listed(), ["listed"]);
  assert.deepEqual(reported.secret("a", "c2"), ["+c2 10.2.0.0/16", "listed"]);
});

test("while a Secret names no cluster, the list of members is incomplete", () => {
  const reported = new Reported();
  reported.secret("a", "C2!");
  assert.deepEqual(reported.listed(), []);
  assert.deepEqual(reported.secret("a", "c2"), ["+c2 10.2.0.0/16", "listed"]);
});

test("a first list without Secrets of known members is confirmed by a second one", () => {
  assert.deepEqual(new Reported().known, ["clusterset-proxy/c2", "clusterset-proxy/c3"]);
});

test("a drain on a Secret is reported once, needs no other connection, and ends with the annotation or the Secret", () => {
  const reported = new Reported();
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
