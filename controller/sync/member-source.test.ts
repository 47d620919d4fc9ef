import assert from "node:assert/strict";
import { test } from "node:test";
import { problemText } from "../../api/problem.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { Recovery } from "../../common/kubernetes/recovery.ts";
import type { ReflectorEvents } from "../../common/kubernetes/reflector-events.ts";
import { IDLE } from "../../test/doubles/idle-reflector.ts";
import {
  type IntroductionKind,
  introducedByNamespaces,
  introducedBySecrets,
  MemberSource,
} from "./member-source.ts";

const RANGES = "clusterset-proxy.io/endpoint-cidrs";
const DRAIN = "clusterset-proxy.io/drain";
const HUB: ApiServer = {
  address: "https://hub",
  recovery: new Recovery(),
  request: () => Promise.reject(new Error("no request is expected")),
  close: () => Promise.resolve(),
};
const BY_NAMESPACES = introducedByNamespaces(HUB);
const BY_SECRETS = introducedBySecrets("clusterset-proxy", () =>
  Promise.reject(new ApiFault("unreachable", "reached")),
);

/** An object that introduces a cluster. */
interface Said {
  readonly label?: string;
  readonly ranges?: string | undefined;
  /** Who drains the cluster; `true`: an invalid drain. */
  readonly drained?: string;
  /** Of a Secret; empty: none. */
  readonly kubeconfig?: string;
  readonly isTerminating?: boolean;
}

/** A source of members, and what it has reported. */
class Reported {
  readonly lines: string[] = [];
  known: readonly string[] = [];
  readonly #prefix: string;
  readonly #source: MemberSource;
  readonly #drains = new Map<string, string>();
  #listing: ReflectorEvents | undefined;

  constructor(kind: IntroductionKind) {
    this.#prefix = kind === BY_SECRETS ? "clusterset-proxy/" : "";

    const follow = (_query: unknown, events: ReflectorEvents, known: Iterable<string>) => {
      this.#listing = events;
      this.known = [...known];
      return IDLE;
    };
    this.#source = new MemberSource(kind, follow, ["c2", "c3"], {
      joined: (id, access) => {
        const ranges = access?.scope.endpointCidrs.map(({ text }) => text).join();
        this.lines.push(ranges === undefined ? `?${id}` : `+${id} ${ranges}`);
      },
      left: (id) => this.lines.push(`-${id}`),
      drained: (id) => this.#drained(id),
      listed: () => this.lines.push("listed"),
      state: () => undefined,
      problems: (_object, problems) => this.lines.push(...problems.map(problemText)),
    });
  }

  /** An object is listed or has changed; undefined: it was deleted. */
  says(name: string, said: Said | undefined): string[] {
    const key = `${this.#prefix}${name}`;
    if (said === undefined) this.#listing?.removed(key, 0);
    else {
      const { label = "c2", ranges = "10.2.0.0/16", drained, kubeconfig = "k" } = said;
      const span = "from=2026-11-24T04:00:00Z; for=2h; by=";
      const drain = drained && (drained === "true" ? drained : `${span}${drained}`);
      const isSecret = this.#prefix !== "";
      const metadata = {
        name,
        ...(isSecret && { namespace: "clusterset-proxy" }),
        labels: { [`clusterset-proxy.io/${isSecret ? "peer" : "registry"}`]: label },
        annotations: { [RANGES]: "ranges" in said ? said.ranges : ranges, [DRAIN]: drain },
        ...(said.isTerminating && { deletionTimestamp: "2026-01-01T00:00:00Z" }),
      };
      const data = kubeconfig === "" ? {} : { kubeconfig: btoa(kubeconfig) };
      this.#listing?.changed(key, { metadata, ...(isSecret && { data }) }, 0);
    }
    return this.lines.splice(0);
  }

  listed(): string[] {
    this.#listing?.listed();
    return this.lines.splice(0);
  }

  #drained(id: string): void {
    const text = this.#source.drains(id).map(({ by, where }) => `${by} on ${where}`);
    if ((this.#drains.get(id) ?? "") === text.join()) return;
    this.#drains.set(id, text.join());
    this.lines.push(`${id} drained: ${text.join() || "no longer"}`);
  }
}

const C2 = "clusterset-registry-c2";

/** Objects one after the other, and what is reported of each. */
type Story = readonly (readonly [string, Said | undefined, RegExp])[];

const NAMESPACES: Readonly<Record<string, Story>> = {
  "a cluster is a member of a hub while its namespace exists": [
    [C2, {}, /^\+c2 10\.2\.0\.0\/16$/],
    [C2, {}, /^$/],
    [C2, { isTerminating: true }, /^-c2$/],
    [C2, undefined, /^$/],
    ["clusterset-registry-c3", { label: "c3" }, /^\+c3 10\.2\.0\.0\/16$/],
    ["clusterset-registry-c3", undefined, /^-c3$/],
  ],
  "a namespace with the name of another cluster adds no member": [
    ["clusterset-registry-c3", {}, /^Namespace \S+: metadata.name: misplaced: "\S+-c3"$/],
    ["shop", {}, /^Namespace shop: metadata.name: misplaced: "shop"$/],
    [C2, { label: "C2" }, /invalid-label: "C2"$/],
  ],
  "changed endpoint ranges of a member apply; invalid ranges change nothing": [
    [C2, {}, /^\+c2 10\.2\.0\.0\/16$/],
    [C2, { ranges: "10.2.0.0/16, fd00:2::/48" }, /^\+c2 10\.2\.0\.0\/16,fd00:2::\/48$/],
    [C2, { ranges: "10.2.0.0/99" }, /^Namespace [^;]*: invalid-cidr: "10.2.0.0\/99"$/],
    [C2, { ranges: "10.2.0.0/16, fd00:2::/48" }, /^$/],
    [C2, { ranges: undefined }, /^[^;]*: endpoint-cidrs-missing: missing$/],
    [C2, { ranges: "10.2.0.0/16, fd00:2::/48" }, /^$/],
    [C2, { ranges: "0.0.0.0/0,::/0" }, /endpoint-cidrs-open: "0\.0.*; \+c2 0\.0\.0\.0\/0,::\/0$/],
  ],
  "a member with invalid ranges from the start is not read until they are valid": [
    [C2, { ranges: "everywhere" }, /: invalid-cidr: "everywhere"; \?c2$/],
    [C2, { ranges: "10.2.3.4/16" }, /^[^;]*: invalid-cidr: "10.2.3.4\/16"$/],
    [C2, {}, /^\+c2 10\.2\.0\.0\/16$/],
    [C2, undefined, /^-c2$/],
  ],
  "a drain on a namespace is known until the annotation is removed or invalid, or the namespace deleted":
    [
      [C2, { drained: "ann" }, /^c2 drained: ann on Namespace \S+; \+c2 10\.2\.0\.0\/16$/],
      [C2, { drained: "ann" }, /^$/],
      [C2, {}, /^c2 drained: no longer$/],
      [C2, { drained: "ann" }, /^c2 drained: ann/],
      [C2, { drained: "true" }, /: invalid-drain: "true"; c2 drained: no longer$/],
      [C2, { drained: "ann" }, /^c2 drained: ann/],
      [C2, undefined, /^c2 drained: no longer; -c2$/],
    ],
};

const SECRETS: Readonly<Record<string, Story>> = {
  "a peer is added with its Secret, added again when its content changes, and removed with it": [
    ["a", {}, /^\+c2 10\.2\.0\.0\/16$/],
    ["a", {}, /^$/],
    ["a", { kubeconfig: "another token" }, /^\+c2 10\.2\.0\.0\/16$/],
    ["a", { kubeconfig: "another token", ranges: "10.3.0.0/16" }, /^\+c2 10\.3\.0\.0\/16$/],
    ["a", { label: "c3" }, /^-c2; \+c3 10\.2\.0\.0\/16$/],
    ["a", undefined, /^-c3$/],
  ],
  "of two Secrets for one peer the first by name is used, and the other is reported": [
    ["b", { kubeconfig: "second" }, /^\+c2/],
    ["a", { kubeconfig: "first" }, /^Secret \S+\/b: .*: duplicate-object: "c2"; \+c2/],
    ["a", undefined, /^\+c2 10\.2\.0\.0\/16$/],
  ],
  "a Secret that becomes invalid changes nothing": [
    ["a", {}, /^\+c2/],
    ["a", { kubeconfig: "" }, /^Secret clusterset-proxy\/a: data.kubeconfig: invalid-object[^;]*$/],
  ],
  "a Secret that was never valid names a member without a connection": [
    ["a", { kubeconfig: "" }, /; \?c2$/],
    ["a", {}, /^\+c2 10\.2\.0\.0\/16$/],
  ],
  "a drain on a Secret needs nothing else of it, and ends with the annotation or the Secret": [
    ["a", {}, /^\+c2/],
    ["a", { drained: "ann" }, /^c2 drained: ann on Secret clusterset-proxy\/a$/],
    ["a", { drained: "bob", kubeconfig: "" }, /invalid-object.*; c2 drained: bob on Secret/],
    ["a", {}, /^c2 drained: no longer$/],
    ["a", { drained: "ann" }, /^c2 drained: ann/],
    ["a", undefined, /^c2 drained: no longer; -c2$/],
  ],
};

for (const [kind, stories] of [
  [BY_NAMESPACES, NAMESPACES],
  [BY_SECRETS, SECRETS],
] as const) {
  for (const [name, story] of Object.entries(stories)) {
    test(name, () => {
      const reported = new Reported(kind);
      for (const [object, said, pattern] of story) {
        assert.match(reported.says(object, said).join("; "), pattern);
      }
    });
  }
}

test("the list of members is complete when it was read and each Secret names a cluster", () => {
  const reported = new Reported(BY_SECRETS);
  reported.says("a", { label: "C2!" });
  assert.deepEqual(reported.listed(), []);
  assert.deepEqual(reported.says("a", {}), ["+c2 10.2.0.0/16", "listed"]);
  assert.deepEqual(reported.says("b", { label: "c3", kubeconfig: "" }).slice(1), ["?c3", "listed"]);
});

test("a first list without the objects of known members is confirmed by a second one", () => {
  assert.deepEqual(new Reported(BY_SECRETS).known, ["clusterset-proxy/c2", "clusterset-proxy/c3"]);
  assert.deepEqual(new Reported(BY_NAMESPACES).known, [C2, "clusterset-registry-c3"]);
});
