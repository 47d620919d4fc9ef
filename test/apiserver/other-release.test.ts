import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import {
  ANNOTATION_CLUSTER_IP_FAILOVER,
  FAILOVER_MANAGER,
  LABEL_MANAGED_BY,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import type { Connections } from "../connections/connections.ts";
import { paste } from "../e2e/reader.ts";
import { eventually } from "../stages/agent-process.ts";
import { CommandLine } from "../stages/command-line.ts";
import { CLUSTERS, type ClusterName, ClusterSetStage, SERVICE } from "./clusterset-stage.ts";
import { ControlPlane } from "./control-plane.ts";
import { ControllerStage } from "./controller-stage.ts";
import { earlierRelease, earlierReleaseMissing } from "./earlier-release.ts";
import { JoinedClusters } from "./joined-clusters.ts";
import { OURS, type Release } from "./release.ts";
import { endpointsOf, SLICE } from "./staged-cluster.ts";
import { Witness } from "./witness.ts";

// The programs of the last release beside those of this one, on real API servers. c2 has the last release and c3 this one, from
// beginning to end. c1 is upgraded and rolled back, program by program, while a pod of c1 connects all the time.

const [namespace = "", name = ""] = SERVICE.split("/");
const SERVICE_OBJECT = { apiVersion: "v1", kind: "Service", metadata: { namespace, name } };
const FAILOVER_SLICES = `${LABEL_MANAGED_BY}=${FAILOVER_MANAGER}`;
const ALL = CLUSTERS.map(({ id }) => id);
/** Where the Service asks for it. Not in c2: controllers of 0.2.0 delay a slice that they delete and create often. */
const FAIL_OVER: readonly ClusterName[] = ["c1", "c3"];

/** A cluster is scaled; where connections go then, and which clusters have endpoints. */
type Step = readonly [ClusterName, boolean, string, readonly ClusterName[]];
const DRILL = [
  ["c1", false, "c2", ["c2", "c3"]],
  ["c2", false, "c3", ["c3"]],
  ["c3", false, "refused", []],
  ["c3", true, "c3", ["c3"]],
  ["c2", true, "c2", ["c2", "c3"]],
  ["c1", true, "c1", ["c1", "c2", "c3"]],
] as const satisfies readonly Step[];
/** In between: the upgraded cluster only. */
const SHORT_DRILL = [
  ["c1", false, "c2", ["c2", "c3"]],
  ["c1", true, "c1", ["c1", "c2", "c3"]],
] as const satisfies readonly Step[];

describe("this release and the last one", { skip: earlierReleaseMissing() ?? false }, () => {
  let earlier: Release;
  let stage: ClusterSetStage;
  let client: Connections;
  let losses: Witness;
  /** Connections up to this one have been checked. */
  let checked = 0;

  before(async () => {
    earlier = earlierRelease();
    const releases = { c1: earlier, c2: earlier };
    stage = await ClusterSetStage.open({ releases });
    losses = new Witness(stage.cluster("c1"));
  });
  after(async () => {
    await losses?.[Symbol.asyncDispose]();
    await stage?.[Symbol.asyncDispose]();
  });

  test("clusters of both export to each other, reject nothing, and follow when one scales to zero and back", async () => {
    for (const id of ALL) {
      const cluster = stage.cluster(id);
      await cluster.export(SERVICE);
      if (!FAIL_OVER.includes(id)) continue;
      const metadata = { annotations: { [ANNOTATION_CLUSTER_IP_FAILOVER]: "true" } };
      await cluster.plane.admin.patch(SERVICE_OBJECT, { metadata });
    }
    await untilImported(ALL);
    for (const id of ALL) {
      const cluster = stage.cluster(id);
      await cluster.untilCondition(SERVICE, "Valid", "True Valid");
      await cluster.untilCondition(SERVICE, "Ready", "True Ready");
      await cluster.untilCondition(SERVICE, "Conflict", "False NoConflicts");
    }
    const { spec } = await stage.cluster("c1").untilImported(SERVICE, addressesOf(ALL));
    const [vip] = (spec as { readonly ips: readonly [string] }).ips;
    client = stage.connect(vip, 600, 10_000);
    await untilConnected("c1");
    await assertFollows("all");
  });

  test("an agent is upgraded before its cluster's controller: it takes over the rules", async () => {
    await assertKeeps(() => replaceAgent(OURS));
    await assertFollows();
  });

  test("the controller is upgraded: nothing that it has written changes", async () => {
    await assertKeeps(async () => {
      await stage.cluster("c1").plane.installCrds({ release: OURS });
      await replaceController(OURS);
    });
    await assertFollows("all");
  });

  test("the agent is rolled back before its cluster's controller: it takes over the rules", async () => {
    await assertKeeps(() => replaceAgent(earlier));
    await assertFollows();
  });

  test("the controller is rolled back: nothing that the new one has written changes", async () => {
    await assertKeeps(() => replaceController(earlier));
    await assertFollows();
    await client.finish();
    assertNoFault();
  });

  /** Replaces c1's agent, which then writes only what the releases render differently. */
  async function replaceAgent(release: Release): Promise<void> {
    await stage.replaceAgent(release);
    await stage.agent.page("/readyz");
  }

  /** Replaces c1's controller. Waits until it has read all registries, and so may write. */
  async function replaceController(release: Release): Promise<void> {
    await stage.replaceController("c1", release);
    await eventually(async () => {
      const { clusters } = await debugPageOf("c1");
      const records = clusters.map((one) => one.records);
      assert.deepEqual(records, ["use", "use", "use"]);
    }, 30_000);
  }

  /** c1 loses no import and no slice, no slice of any cluster is written, both releases have the same plan, and no connection fails. */
  async function assertKeeps(act: () => Promise<void>): Promise<void> {
    losses.taken();
    const before = await slices();
    await act();
    await Promise.all(ALL.map((id) => stage.cluster(id).atRest()));
    assert.deepEqual(await slices(), before);
    assert.deepEqual(losses.taken(), []);
    assert.deepEqual(await decisionsOf(OURS), await decisionsOf(earlier));
    await untilConnected("c1");
    assertNoFault();
  }

  /**
   * Clusters scale to zero and back, in `all` three or in the upgraded one: all others follow, and connections, of which none fails before its time.
   */
  async function assertFollows(which: "all" | "c1" = "c1"): Promise<void> {
    let before = "c1";
    for (const [id, up, wanted, left] of which === "all" ? DRILL : SHORT_DRILL) {
      await stage.scale(id, up);
      await untilImported(left);
      await untilConnected(wanted);
      assertNoFault([before, wanted].includes("refused") ? ["refused"] : []);
      before = wanted;
    }
    for (const id of ALL) {
      const { refused, clusters } = await debugPageOf(id);
      assert.deepEqual([refused, ...clusters.map((one) => one.refused)], [{}, {}, {}, {}], id);
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

  /** Waits until each cluster has imported the endpoints of just these, and lists the nearest of them for failover. */
  async function untilImported(ids: readonly ClusterName[]): Promise<void> {
    for (const id of ALL) {
      const cluster = stage.cluster(id);
      await cluster.untilImported(SERVICE, addressesOf(ids));
      if (!FAIL_OVER.includes(id)) continue;
      await eventually(async () => {
        const found = await cluster.list(SLICE, namespace, FAILOVER_SLICES);
        const addresses = endpointsOf(found).flatMap((one) => one.addresses);
        const nearest = addressesOf(nearestOthers(id, ids));
        assert.deepEqual(addresses.sort(), nearest, `${id}: ${cluster.log}`);
      }, 30_000);
    }
  }

  async function debugPageOf(id: ClusterName): Promise<DebugPage> {
    return JSON.parse(await stage.cluster(id).page("/debug"));
  }

  /** Versions of all imported slices and failover slices. */
  async function slices(): Promise<Readonly<Record<string, unknown>>> {
    const versions = ALL.map(async (id) => {
      const found = await stage.cluster(id).list(SLICE, namespace, LABEL_SOURCE_CLUSTER);
      return found.map(({ metadata }) => [`${id} ${metadata.name}`, metadata.resourceVersion]);
    });
    return Object.fromEntries((await Promise.all(versions)).flat());
  }

  /** What the agent of a release decides. */
  async function decisionsOf(release: Release): Promise<unknown> {
    return decisionsIn(await stage.planOf(release));
  }
});

describe("this release and the last one on a hub", {
  skip: earlierReleaseMissing() ?? false,
}, () => {
  test("clusters of both follow each other, and each keeps what it imported when its controller is upgraded or rolled back", async () => {
    const earlier = earlierRelease();
    await using stage = await ControllerStage.open({
      ...{ clusters: ["c1", "c2"], registry: "hub" },
      releases: { c1: earlier },
    });
    await stage.start();
    const [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
    const untilImported = async (...addresses: readonly string[]) => {
      for (const cluster of stage.clusters) await cluster.untilImported(SERVICE, addresses);
    };
    await c1.offer(SERVICE, "10.1.0.7");
    await c2.offer(SERVICE, "10.2.0.7");
    await untilImported("10.1.0.7", "10.2.0.7");
    for (const release of [OURS, earlier]) {
      await using losses = new Witness(c1);
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

describe("clusters that joined with the plugin of the last release", {
  skip: earlierReleaseMissing() ?? false,
}, () => {
  test("a join of this release has no conflict, keeps tokens and programs, and the next one has nothing to do", async () => {
    const ids = ["c1", "c2"];
    await using set = await JoinedClusters.open(ids);
    const join = ["join", ...ids, "--clusterset", "prod", "--no-wait", "--yes"];
    const argv = [...join, "--skip-reachability"];
    const env = { ...process.env, KUBECONFIG: set.user.kubeconfig };
    // Not execFileSync: the API servers' output goes through this process, too.
    const [plugin = ""] = earlierRelease().plugin;
    await promisify(execFile)(plugin, argv, { env });
    const { out } = await set.run(...argv);
    assert.doesNotMatch(out, /conflict|peer-c\d (created|changed)/);
    for (const id of ids) {
      // Where others reach it, it said of itself by no earlier join.
      assert.match(out, new RegExp(`^${id}: namespace/clusterset-registry-${id} changed$`, "m"));
      for (const program of ["deployment/clusterset-controller", "daemonset/clusterset-agent"])
        assert.match(out, new RegExp(`^${id} +unchanged +clusterset-proxy/${program}$`, "m"));
    }
    assert.match((await set.run(...argv)).out, /^nothing to do$/m);
    await set.start(ids);
    for (const id of ids) await set.cluster(id).namespace("shop");
    await set.cluster("c1").serve("shop/web", ["10.1.3.7"]);
    await set.cluster("c1").export("shop/web");
    await set.cluster("c2").untilImported("shop/web", ["10.1.3.7"]);
  });
});

describe("manifests of this release and the last one", {
  skip: earlierReleaseMissing() ?? false,
}, () => {
  test("an upgrade and a roll back with kubectl apply: each replaces the other's images, and no field is immutable", async () => {
    await using plane = await ControlPlane.start();
    using user = new CommandLine({ c1: plane.inlineKubeconfig() });
    const images = "get daemonsets,deployments -o jsonpath='{..containers[*].image}'";
    for (const overlay of ["mesh", "hub"]) {
      for (const { deploy } of [earlierRelease(), OURS, earlierRelease()]) {
        const tag = deploy === OURS.deploy ? "ours" : "earlier";
        // As the guide to upgrade does with the tag of a release.
        const applied = await paste(
          user,
          `${deploy}/crds/install c1
kubectl kustomize ${deploy}/overlays/${overlay} | sed -E 's#(image: clusterset-(agent|controller)):.*#\\1:${tag}#' |
  kubectl --context c1 apply -f -
kubectl --context c1 -n clusterset-proxy ${images}`,
        );
        assert.match(applied, new RegExp(`clusterset-agent:${tag} clusterset-controller:${tag}$`));
      }
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

/** Of clusters with endpoints, those that a cluster fails over to. */
function nearestOthers(id: ClusterName, ids: readonly ClusterName[]): ClusterName[] {
  const others = CLUSTERS.filter((one) => one.id !== id && ids.includes(one.id));
  const own = CLUSTERS.find((one) => one.id === id);
  const regional = others.filter(({ region }) => region === own?.region);
  return (regional.length > 0 ? regional : others).map((one) => one.id);
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
