import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, objectOf, titleOf } from "./change.ts";
import type { ClusterDns, DnsWay } from "./dns-server.ts";
import { meshHandover } from "./handovers.ts";
import { type JoinSet, joinChanges } from "./join.ts";
import { leaveChanges } from "./leave.ts";
import type { Member } from "./members.ts";
import { rotateChanges } from "./rotate.ts";
import { upgradeChanges } from "./upgrade.ts";

const SUPPORTED = { kind: "coredns", image: "coredns:v1.12.2" } as const;

function member(id: string): Member {
  const peers = id === "c1" ? [{ cluster: "c2", secret: "peer-c2" }] : [];
  return {
    ...{ id, context: `at-${id}`, endpointCidrs: "10.1.0.0/16", rangesFrom: "given" },
    ...{ server: `https://${id}.example:6443`, components: [] },
    facts: {
      ...{ context: `at-${id}`, address: `https://${id}.example:6443`, minor: 33, uid: id },
      ...{ clusterId: id, nodeRegions: [], podCidrs: [], serviceCidrs: [], images: {} },
      ...{ components: [], peers, dns: SUPPORTED },
    },
  };
}

const MEMBERS = ["c1", "c2"].map(member);
const [C1, C2] = MEMBERS as [Member, Member];
const SET: JoinSet = {
  ...{ clusterset: "prod", members: MEMBERS, images: {}, version: "9.9.9" },
  ...{ manifests: true, wait: true },
};

/** A change in words: `2 at-c1 put clusterproperty/…`. */
function said(change: Change): string {
  const { stage, on, act, wait } = change;
  const object =
    change.act === "put" || change.act === "remove"
      ? titleOf(change.object)
      : change.act === "hand-over"
        ? titleOf(change.handover.secret)
        : "";
  return [String(stage), on, act, object, wait && `until ${wait.for}`].filter(Boolean).join(" ");
}

const of = (changes: readonly Change[], pattern: RegExp) =>
  changes.map(said).filter((one) => pattern.test(one));

test("join: kubeconfigs follow all objects, identities follow kubeconfigs, and CoreDNS restarts in one cluster after the other", () => {
  const changes = joinChanges(SET);
  assert.deepEqual(of(changes, /hand-over|clusterproperty\/cluster\.| names$|until/), [
    "1 at-c1 hand-over clusterset-proxy/secret/peer-c2",
    "1 at-c2 hand-over clusterset-proxy/secret/peer-c1",
    "2 at-c1 put clusterproperty/cluster.clusterset.k8s.io",
    "2 at-c2 put clusterproperty/cluster.clusterset.k8s.io",
    "3 at-c1 names",
    "4 at-c2 names",
    "5 at-c1 wait until rollout",
    "5 at-c1 wait until rollout",
    "6 at-c1 wait until peers",
    "5 at-c2 wait until rollout",
    "5 at-c2 wait until rollout",
    "6 at-c2 wait until peers",
  ]);
  const own = changes.filter(({ on, stage }) => on === "at-c1" && stage === 0).map(said);
  const at = (title: string) => own.findIndex((one) => one.endsWith(title));
  assert.ok(at("customresourcedefinition/serviceimports.multicluster.x-k8s.io") >= 0);
  assert.ok(at("namespace/clusterset-proxy") < at("daemonset/clusterset-agent"));
});

test("join: the token of a pair is made only while its service account has none", () => {
  const guarded = joinChanges(SET).filter((one) => one.act === "put" && one.unless === "has-token");
  assert.deepEqual(guarded.map(said), [
    "0 at-c1 put clusterset-registry-c1/secret/c2",
    "0 at-c2 put clusterset-registry-c2/secret/c1",
  ]);
});

/** What join does in a cluster with this DNS server: objects, the Corefile, and what the user has to add. */
function dnsChanges(dns: ClusterDns, set: Partial<JoinSet> = {}): string[] {
  const members = [{ ...C1, facts: { ...C1.facts, dns } }];
  return joinChanges({ ...SET, ...set, members }).flatMap((change) => {
    if (change.act === "names") return [`names ${change.verb}`];
    const { wait } = change;
    if (wait?.for === "stub-domain") return [`${wait.in} of ${wait.dns.kind}`];
    if (wait?.for === "rollout") return wait.workload.name === "clusterset-dns" ? ["rollout"] : [];
    if (change.act !== "put") return [];
    const title = titleOf(change.object);
    return /deployment\/clusterset-dns|clusterrole\/clusterset-coredns/.test(title) ? [title] : [];
  });
}

const OWN = "clusterset-proxy/deployment/clusterset-dns";
const RIGHTS = "clusterrole/clusterset-coredns";
/** A CoreDNS of the clusterset, and what leads to it. */
const own = (last: string) => [OWN, "rollout", last];
const CACHED = { cacheAddresses: ["169.254.20.10"] };

/** A DNS server, the flag, and what join does. */
const DNS_ROWS: readonly (readonly [ClusterDns, DnsWay | undefined, readonly string[]])[] = [
  [SUPPORTED, undefined, [RIGHTS, "names add"]],
  [SUPPORTED, "own", own("names forward")],
  [SUPPORTED, "none", []],
  // A block that forwards is undone by its removal, and each version has its plugins.
  [{ ...SUPPORTED, image: "coredns:v1.11.4" }, undefined, own("names forward")],
  // A Corefile that is not ours to change, and a version that is not known.
  [{ ...SUPPORTED, owner: "Helm" }, undefined, own("server of coredns")],
  [{ kind: "coredns", image: "r/c@sha256:1" }, undefined, own("server of coredns")],
  [{ kind: "eks", owner: "EKS" }, undefined, own("server of eks")],
  [{ kind: "kube-dns" }, undefined, own("server of kube-dns")],
  [{ kind: "unknown" }, undefined, own("server of unknown")],
  [{ kind: "unknown" }, "none", []],
  // The zone has one block: that of an earlier join becomes the one that forwards.
  [{ kind: "eks", owner: "EKS", block: "serves" }, "own", own("names forward")],
  [{ kind: "coredns-custom", owner: "K3s", block: "serves" }, "own", own("names forward")],
  // GKE's cache reads the ConfigMap of kube-dns.
  [{ kind: "kube-dns", ...CACHED }, undefined, own("server of kube-dns")],
  // Pods ask the cache, which does not ask CoreDNS for other zones than its own.
  [{ ...SUPPORTED, ...CACHED }, undefined, [RIGHTS, "names add", "cache of coredns"]],
];

for (const [dns, way, wanted] of DNS_ROWS)
  test(`join: ${dns.owner ?? ""} ${dns.kind} ${dns.image ?? ""}, --dns ${way ?? "(default)"}: ${wanted.join(", ")}`, () => {
    assert.deepEqual(dnsChanges(dns, { dns: way }), wanted);
  });

test("join: programs keep the registry of the images that they have, at our version, until a flag names others", () => {
  const imagesWith = (images: Readonly<Record<string, string>>, flags: JoinSet["images"] = {}) => {
    const members = [{ ...C1, facts: { ...C1.facts, images } }];
    const put = joinChanges({ ...SET, images: flags, members });
    return [...JSON.stringify(put).matchAll(/"image":"([^"]*clusterset-[^"]*)"/g)].map(
      ([, image]) => image,
    );
  };
  const had = {
    "clusterset-agent": "r:5000/clusterset-agent:0.1.0",
    "clusterset-controller": "r/clusterset-controller:9.9.9@sha256:1",
  };
  const agent = "r:5000/clusterset-agent:9.9.9";
  assert.deepEqual(imagesWith(had), [had["clusterset-controller"], agent]);
  const flags = { "clusterset-controller": "q/clusterset-controller:1" };
  assert.deepEqual(imagesWith(had, flags), ["q/clusterset-controller:1", agent]);
  assert.match(imagesWith({})[0] ?? "", /^clusterset-controller:/);
});

test("join: a CoreDNS of the clusterset has the flag's image, else that of a mirror which it has, else ours", () => {
  const imageWith = (ownImage: string | undefined, images: JoinSet["images"] = {}) => {
    const dns = { kind: "eks", owner: "EKS", ...(ownImage !== undefined && { ownImage }) } as const;
    const members = [{ ...C1, facts: { ...C1.facts, dns } }];
    const put = joinChanges({ ...SET, images, members }).find(
      (one) => one.act === "put" && titleOf(one.object) === OWN,
    );
    return /"image":"([^"]*)"/.exec(JSON.stringify(put))?.[1];
  };
  const ours = imageWith(undefined) ?? "";
  assert.match(ours, /\/coredns:1\.\d+\.\d+$/);
  assert.equal(imageWith(ours.replace(/:.*/, ":1.12.2")), ours);
  assert.equal(imageWith("mirror:5000/coredns:1.12.2"), "mirror:5000/coredns:1.12.2");
  assert.equal(imageWith("mirror/coredns:1.12.2", { coredns: "r/c:9" }), "r/c:9");
});

test("join: with --skip-manifests, --dns none and --no-wait, no program, name or wait is part of it", () => {
  const changes = joinChanges({ ...SET, manifests: false, dns: "none", wait: false });
  assert.deepEqual(of(changes, /daemonset|deployment|customresource| names$|wait|coredns/), []);
  assert.equal(of(changes, /hand-over/).length, 2);
});

test("join: with a hub, its objects and one kubeconfig for each member", () => {
  const hub = { context: "hub", server: "https://hub.example:6443" };
  const changes = joinChanges({ ...SET, hub });
  assert.deepEqual(of(changes, /hand-over/), [
    "1 at-c1 hand-over clusterset-proxy/secret/hub",
    "1 at-c2 hand-over clusterset-proxy/secret/hub",
  ]);
  assert.ok(of(changes, /^0 hub put clusterset-members\/secret\/c1$/).length === 1);
  assert.deepEqual(of(changes, /clusterset-registry.*secret/), []);
});

test("upgrade: one cluster after the other, the hub first, and each program is ready before the next", () => {
  const upgraded = ["at-c2", "at-c1"].map((context) => ({
    ...({ context, mode: "mesh", images: {}, components: [] } as const),
  }));
  const changes = upgradeChanges(upgraded, "hub");
  const stages = [...new Set(changes.map(({ stage, on }) => `${stage} ${on}`))];
  assert.deepEqual(stages, ["0 hub", "1 at-c2", "2 at-c1"]);
  assert.deepEqual(
    changes
      .filter(({ stage }) => stage === 1)
      .map(said)
      .slice(-2),
    [
      "1 at-c2 put clusterset-proxy/deployment/clusterset-controller until rollout",
      "1 at-c2 put clusterset-proxy/daemonset/clusterset-agent until rollout",
    ],
  );
});

const HANDOVER = meshHandover(C1, C2);
const token = (name: string, created: string) => ({ name, created, token: name, used: true });

test("rotate: a second token, the kubeconfig, and the end of the first token once the second is in use", () => {
  const tokens = [token("c2", "2026-01-01T09:45:12Z")];
  const changes = rotateChanges([{ handover: HANDOVER, tokens, used: "c2" }]);
  assert.deepEqual(changes.map(said), [
    "0 at-c1 put clusterset-registry-c1/secret/c2-after-20260101t094512 until token",
    "1 at-c2 hand-over clusterset-proxy/secret/peer-c1 until token-use",
    "2 at-c1 remove clusterset-registry-c1/secret/c2",
  ]);
});

test("rotate: two at the same time make one token, and the next rotation another one, also within a second", () => {
  const created = "2026-01-01T09:45:12Z";
  const puts = (...names: readonly string[]) => {
    const tokens = names.map((name) => token(name, created));
    const used = names.at(-1);
    return rotateChanges([{ handover: HANDOVER, tokens, used }]).filter(({ act }) => act === "put");
  };
  const [first] = puts("c2");
  assert.deepEqual(puts("c2"), [first], "planned at another time");
  assert.deepEqual(puts("c2-after-20260101t094512").map(said), [
    "0 at-c1 put clusterset-registry-c1/secret/c2-after-20260101t094512n until token",
  ]);
});

test("rotate: a rotation that broke off continues with the newer token, whether the reader has it or not", () => {
  const tokens = [token("old", "2026-01-01"), token("new", "2026-02-01")];
  for (const used of ["old", "new"])
    assert.deepEqual(rotateChanges([{ handover: HANDOVER, tokens, used }]).map(said), [
      "1 at-c2 hand-over clusterset-proxy/secret/peer-c1 until token-use",
      "2 at-c1 remove clusterset-registry-c1/secret/old",
    ]);
});

const DEPARTURE = {
  ...{ context: "at-c1", id: "c1", facts: C1.facts, crds: [] },
  others: [{ ...C2.facts, peers: [{ cluster: "c1", secret: "peer-c1" }] }],
  exports: [{ ...objectOf("ServiceExport", "web", "shop"), apiVersion: "x/v1" }],
  readers: [objectOf("ServiceAccount", "c2", "clusterset-registry-c1")],
};

test("leave: exports, a wait in the other cluster, traces in others, its own by which a repeated run finds them, programs, and namespaces end last", () => {
  const changes = leaveChanges(DEPARTURE, { wait: true, keepPrograms: false });
  assert.deepEqual(changes.filter(({ stage }) => stage < 4).map(said), [
    "0 at-c1 remove shop/serviceexport/web",
    "1 at-c2 wait until slices-gone",
    "2 at-c2 remove clusterset-proxy/secret/peer-c1",
    "2 at-c2 remove clusterset-registry-c2/serviceaccount/c1",
    "3 at-c1 remove clusterset-proxy/secret/peer-c2",
  ]);
  const programs = changes.filter(({ stage }) => stage === 4).map(said);
  const order = [
    "names",
    "deployment/clusterset-controller",
    "pods-ended",
    "remove namespace/clusterset-proxy",
    "remove clusterrole/clusterset-dns",
    "sweep",
    "put clusterset-cleanup/daemonset/clusterset-cleanup",
    "until rollout",
    "remove namespace/clusterset-cleanup",
  ].map((part) => programs.findIndex((one) => one.includes(part)));
  const sorted = order.toSorted((a, b) => a - b);
  assert.deepEqual(order, sorted);
  assert.ok(!order.includes(-1), order.join());
  const last = changes.filter(({ stage }) => stage === 5);
  assert.ok(last.length >= 3 && last.every(({ wait }) => wait?.for === "namespace-ended"));
});

test("leave: --no-wait waits for no other cluster, and --keep-programs deletes only what others read it by", () => {
  const changes = leaveChanges(DEPARTURE, { wait: false, keepPrograms: true });
  assert.deepEqual(of(changes, /wait| names$|sweep|daemonset/), []);
  assert.deepEqual(of(changes, /registry-c1/), [
    "3 at-c1 remove clusterset-registry-c1/serviceaccount/c2",
  ]);
});
