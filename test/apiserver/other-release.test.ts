import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { endpointRangesProperty } from "../../api/endpoint-ranges.ts";
import { ANNOTATION_ENDPOINT_CIDRS } from "../../api/keys.ts";
import { POD_RANGES } from "../generators/pod-ranges.ts";
import { eventually } from "../stages/agent-process.ts";
import { CLUSTERS, type ClusterName, ClusterSetStage, SERVICE } from "./clusterset-stage.ts";
import type { Connections } from "./connections.ts";
import { ControllerStage } from "./controller-stage.ts";
import { earlierRelease, earlierReleaseMissing } from "./earlier-release.ts";
import { Losses } from "./losses.ts";
import { OURS, type Release } from "./release.ts";
import { EXPORT, IMPORT, SLICE } from "./staged-cluster.ts";

// The programs of the last release beside those of this one, on real API servers. c2 has the last release and c3 this one, from
// beginning to end. c1 is upgraded and rolled back, program by program, while a pod of c1 connects all the time.

const CLUSTER_PROPERTY = { apiVersion: "about.k8s.io/v1beta1", kind: "ClusterProperty" };
const IP_ADDRESS = { apiVersion: "networking.k8s.io/v1", kind: "IPAddress" };
const VIPS_ONLY = "ipaddress.kubernetes.io/managed-by=clusterset-controller";
const IMPORTED = "multicluster.kubernetes.io/service-name";
/** A Service that c3 exports until c1 is rolled back. */
const WITHDRAWN = "shop/withdrawn";
const ALL = CLUSTERS.map(({ id }) => id);

/** A cluster is scaled; where connections go then, and which clusters have endpoints. */
const DRILL = [
  ["c1", false, "c2", ["c2", "c3"]],
  ["c2", false, "c3", ["c3"]],
  ["c3", false, "refused", []],
  ["c3", true, "c3", ["c3"]],
  ["c2", true, "c2", ["c2", "c3"]],
  ["c1", true, "c1", ["c1", "c2", "c3"]],
] as const satisfies readonly (readonly [ClusterName, boolean, string, readonly ClusterName[]])[];

describe("this release and the last one", { skip: earlierReleaseMissing() ?? false }, () => {
  let earlier: Release;
  let stage: ClusterSetStage;
  let client: Connections;
  let losses: Losses;
  /** Connections up to this one have been checked. */
  let checked = 0;

  before(async () => {
    earlier = earlierRelease();
    const releases = { c1: earlier, c2: earlier };
    // Longer than any restart on a slow machine, because the slices of a stale cluster change.
    stage = await ClusterSetStage.open({ releases, leaseDuration: "60s" });
    losses = new Losses(stage.cluster("c1"));
    // The last release does not require ranges.
    await declareRanges(null);
  });
  after(async () => {
    await losses?.[Symbol.asyncDispose]();
    await stage?.[Symbol.asyncDispose]();
  });

  test("clusters of both export to each other, reject nothing, and follow when one scales to zero and back", async () => {
    await stage.cluster("c3").serve(WITHDRAWN, ["10.3.0.12"]);
    await stage.cluster("c3").export(WITHDRAWN);
    for (const id of ALL) await stage.cluster(id).export(SERVICE);
    await untilImported(ALL);
    for (const id of ALL) {
      const cluster = stage.cluster(id);
      await cluster.untilImported(WITHDRAWN, ["10.3.0.12"]);
      await cluster.untilCondition(SERVICE, "Valid", "True Valid");
      await cluster.untilCondition(SERVICE, "Ready", "True Ready");
      await cluster.untilCondition(SERVICE, "Conflict", "False NoConflicts");
      await assertRejectsNothing(id);
    }
    client = stage.connect((await vipOf(SERVICE)) ?? "", 600, 10_000);
    await untilConnected("c1");
    await assertFollows();
  });

  test("a new agent leaves the rules as they are until it has its new permission", async () => {
    await assertKeeps(async () => {
      await stage.replaceAgent(OURS);
      await eventually(() => assert.match(stage.agent.log, /"resource":"ipaddresses".*forbidden/));
      await untilConnected("c1");
      await stage.allowAgent(OURS);
      await stage.agent.page("/readyz");
    });
    await assertSamePlan();
    await assertFollows();
  });

  test("a new controller changes nothing without its new permissions, nor of peers without endpoint-cidrs; then it follows them", async () => {
    const c1 = stage.cluster("c1");
    await assertKeeps(async () => {
      await c1.plane.installCrds({ release: OURS });
      await stage.replaceController("c1", OURS);
      await eventually(() => assert.match(c1.log, /"resource":"ipaddresses".*forbidden/), 20_000);
      await stage.allowController("c1", OURS);
      await c1.untilLogged("endpoint-cidrs-missing");
    });
    await stage.scale("c3", false);
    await stage.cluster("c2").untilImported(SERVICE, addressesOf(["c1", "c2"]));
    await c1.untilImported(SERVICE, addressesOf(ALL));
    await declareRanges(POD_RANGES[ANNOTATION_ENDPOINT_CIDRS]);
    await untilImported(["c1", "c2"]);
    await stage.scale("c3", true);
    await untilImported(ALL);
    losses.taken();
    await assertRejectsNothing("c1");
    await assertSamePlan();
    await assertFollows();
    assert.deepEqual(await reserved(), new Set([await vipOf(SERVICE), await vipOf(WITHDRAWN)]));
  });

  test("a controller that is rolled back changes an annotation of its cluster's slices in clusters of the last release, and nothing else", async () => {
    const { admin } = stage.cluster("c1").plane;
    const cleanUp = async () => {
      for (const peer of ["c2", "c3"]) {
        const metadata = { name: endpointRangesProperty(peer) };
        await admin.delete({ ...CLUSTER_PROPERTY, metadata });
      }
      await untilRangesCopied(false);
    };
    const rollBack = async () => {
      await stage.replaceController("c1", earlier);
      await stage.allowController("c1", earlier);
      await untilWorking("c1");
      await untilRangesCopied(true);
    };
    // The last release publishes all ClusterProperties, including the ranges of peers, and copies those of a cluster to its slices.
    await assertKeeps(rollBack, /^c[12] web\.c1\./);
    await assertKeeps(cleanUp, /^c[12] web\.c1\./);
    await assertSamePlan();
    await assertFollows();
    await assertRejectsNothing("c1");
    await stage.cluster("c3").plane.admin.delete({ ...EXPORT, metadata: nameOf(WITHDRAWN) });
    for (const id of ALL) await stage.cluster(id).untilGone(WITHDRAWN);
    losses.taken();
  });

  test("an agent that is rolled back takes over the rules", async () => {
    await assertKeeps(async () => {
      await stage.replaceAgent(earlier);
      await stage.allowAgent(earlier);
      await stage.agent.page("/readyz");
    });
    await assertFollows();
  });

  test("a new controller beside the last agent releases VIPs that became free while it was rolled back", async () => {
    await assertKeeps(async () => {
      await stage.allowController("c1", OURS);
      await stage.replaceController("c1", OURS);
      await untilWorking("c1");
    });
    await eventually(async () =>
      assert.deepEqual(await reserved(), new Set([await vipOf(SERVICE)])),
    );
    await assertSamePlan();
    await assertFollows();
    await client.finish();
    assertNoFault();
  });

  /** Nothing that c1 has imported is lost, no slice but `written` is written in any cluster, and no connection fails or hangs. */
  async function assertKeeps(act: () => Promise<void>, written?: RegExp): Promise<void> {
    losses.taken();
    const before = await slices();
    await act();
    await Promise.all(ALL.map((id) => stage.cluster(id).atRest()));
    const found = await slices();
    const names = Object.keys({ ...before, ...found });
    const changed = names.filter((name) => before[name] !== found[name]);
    const unexpected = changed.filter((name) => written?.test(name) !== true);
    assert.deepEqual(unexpected, []);
    assert.deepEqual(losses.taken(), []);
    await untilConnected("c1");
    assertNoFault();
  }

  /** Clusters scale to zero and back: imports of all clusters follow, and connections, of which none fails before its time. */
  async function assertFollows(): Promise<void> {
    let before = "c1";
    for (const [id, up, wanted, left] of DRILL) {
      await stage.scale(id, up);
      await untilImported(left);
      await untilConnected(wanted);
      assertNoFault([before, wanted].includes("refused") ? ["refused"] : []);
      before = wanted;
    }
  }

  function assertNoFault(allowed: readonly string[] = []): void {
    const ended = client.attempts.slice(checked);
    checked += ended.length;
    const errors = ended.flatMap(({ error }) => error ?? []);
    const faults = errors.filter((error) => !allowed.includes(error));
    assert.equal(faults.length, 0, `${faults.join()}\n${stage.log}`);
  }

  async function untilConnected(wanted: string): Promise<void> {
    await client.settled(wanted, client.attempts.length, () => stage.log, 30_000);
  }

  /** The agents of both releases decide the same. */
  async function assertSamePlan(): Promise<void> {
    const plans = [await stage.planOf(earlier), await stage.planOf(OURS)];
    const [last, ours] = plans.map((text) => decisionsIn(text));
    assert.deepEqual(ours, last);
  }

  async function assertRejectsNothing(id: ClusterName): Promise<void> {
    const { refused, clusters } = JSON.parse(await stage.cluster(id).page("/debug")) as DebugPage;
    const all = [refused, ...clusters.map((one) => one.refused)];
    assert.deepEqual(all, [{}, ...ALL.map(() => ({}))], id);
  }

  /** Waits until each cluster has imported the endpoints of just these. */
  async function untilImported(ids: readonly ClusterName[]): Promise<void> {
    for (const id of ALL) await stage.cluster(id).untilImported(SERVICE, addressesOf(ids));
  }

  /** Waits until a cluster's controller has read all registries. */
  async function untilWorking(id: ClusterName): Promise<void> {
    await eventually(async () => {
      const { clusters } = JSON.parse(await stage.cluster(id).page("/debug")) as DebugPage;
      assert.deepEqual(
        clusters.map(({ records }) => records),
        ["use", "use", "use"],
      );
    }, 30_000);
  }

  /** Waits until slices in the clusters of the last release have endpoint ranges among their properties, or have none. */
  async function untilRangesCopied(areCopied: boolean): Promise<void> {
    await eventually(async () => {
      for (const id of ["c1", "c2"] as const) {
        const text = JSON.stringify(await stage.cluster(id).list(SLICE, "shop", IMPORTED));
        assert.equal(text.includes("endpoint-cidrs"), areCopied, `${id}: ${text}`);
      }
    }, 60_000);
  }

  /** Endpoint ranges of c1's peers, in their Secrets; null removes them. */
  async function declareRanges(ranges: string | null): Promise<void> {
    for (const peer of ["c2", "c3"]) {
      const metadata = { namespace: "clusterset-proxy", name: `peer-${peer}` };
      const secret = { apiVersion: "v1", kind: "Secret", metadata };
      const annotations = { [ANNOTATION_ENDPOINT_CIDRS]: ranges };
      await stage.cluster("c1").plane.admin.patch(secret, { metadata: { annotations } });
    }
  }

  /** The resourceVersion of each imported slice, by cluster and name. */
  async function slices(): Promise<Record<string, unknown>> {
    const versions = ALL.map(async (id) => {
      const imported = await stage.cluster(id).list(SLICE, "shop", IMPORTED);
      return imported.map(({ metadata }) => [`${id} ${metadata.name}`, metadata.resourceVersion]);
    });
    return Object.fromEntries((await Promise.all(versions)).flat());
  }

  async function vipOf(key: string): Promise<string | undefined> {
    const found = await stage.cluster("c1").find(IMPORT, key);
    return (found?.spec as { readonly ips: readonly string[] } | undefined)?.ips[0];
  }

  /** VIPs that c1 has reserved. */
  async function reserved(): Promise<Set<string>> {
    const all = await stage
      .cluster("c1")
      .plane.admin.list(IP_ADDRESS, { labelSelector: VIPS_ONLY });
    return new Set(all.map(({ metadata }) => metadata.name));
  }
});

describe("this release and the last one on a hub", {
  skip: earlierReleaseMissing() ?? false,
}, () => {
  test("clusters of both follow each other, and each keeps what it imported when its controller is upgraded or rolled back", async () => {
    const earlier = earlierRelease();
    await using stage = await ControllerStage.open({
      ...{ clusters: ["c1", "c2"], registry: "hub", leaseDuration: "60s" },
      releases: { c1: earlier },
    });
    await stage.start();
    const [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
    const untilImported = async (...addresses: readonly string[]) => {
      for (const cluster of stage.clusters) await cluster.untilImported(SERVICE, addresses);
    };
    for (const [cluster, address] of [
      [c1, "10.1.0.7"],
      [c2, "10.2.0.7"],
    ] as const) {
      await cluster.serve(SERVICE, [address]);
      await cluster.export(SERVICE);
    }
    for (const release of [earlier, OURS, earlier]) {
      await using losses = new Losses(c1);
      await stage.allow("c1", release);
      await c1.stop();
      c1.program = release.controller;
      await c1.launch();
      await untilImported("10.1.0.7", "10.2.0.7");
      await c2.endpoints(SERVICE, ["10.2.0.7", "10.2.0.8"]);
      await untilImported("10.1.0.7", "10.2.0.7", "10.2.0.8");
      assert.deepEqual(losses.taken(), []);
      await c2.endpoints(SERVICE, []);
      await untilImported("10.1.0.7");
      await c2.endpoints(SERVICE, ["10.2.0.7"]);
      await c1.endpoints(SERVICE, []);
      await untilImported("10.2.0.7");
      await c1.endpoints(SERVICE, ["10.1.0.7"]);
      await untilImported("10.1.0.7", "10.2.0.7");
    }
  });
});

interface DebugPage {
  readonly refused: object;
  readonly clusters: readonly { readonly records: string; readonly refused: object }[];
}

function addressesOf(ids: readonly ClusterName[]): string[] {
  return CLUSTERS.filter(({ id }) => ids.includes(id)).map(({ address }) => address);
}

function nameOf(key: string): { namespace: string; name: string } {
  const [namespace = "", name = ""] = key.split("/");
  return { namespace, name };
}

interface Plan {
  readonly importKey: string;
  readonly reason: string;
  readonly vips: readonly { readonly address: string; readonly reason: string }[];
  readonly services: readonly {
    readonly port: number;
    readonly tier?: string;
    readonly reason: string;
    readonly endpoints: readonly { readonly address: string; readonly port: number }[];
  }[];
}

/** What a printed plan says of each import, without fields that only one release may have. */
function decisionsIn(text: string): unknown {
  const { imports } = JSON.parse(text) as { readonly imports: readonly Plan[] };
  return imports.map(({ importKey, reason, vips, services }) => ({
    ...{ importKey, reason },
    vips: vips.map((vip) => `${vip.address} ${vip.reason}`),
    services: services.map((one) => ({
      ...{ port: one.port, tier: one.tier, reason: one.reason },
      endpoints: one.endpoints.map(({ address, port }) => `${address}:${port}`),
    })),
  }));
}
