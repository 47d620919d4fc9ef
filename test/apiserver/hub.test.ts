import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { registryNamespace } from "../../controller/registry/names.ts";
import { conformanceCases } from "./conformance/cases.ts";
import { ControllerStage, type StagedCluster } from "./controller-stage.ts";
import { hubRights } from "./rights.ts";
import { Witness } from "./witness.ts";

// The conformance cases with records on a hub; then it goes away, comes back with what it had, with less, or with nothing, or
// denies writes: no cluster loses what it knew.

const IDS = ["cluster-1", "cluster-2"] as const;
const RBAC = "rbac.authorization.k8s.io/v1";

let stage: ControllerStage;
let c1: StagedCluster;
let c2: StagedCluster;
before(async () => {
  const flags = ["--clusterset-cidr", "241.0.0.0/8,fdc5::/64"];
  stage = await ControllerStage.open({ clusters: IDS, registry: "hub", flags });
  [c1, c2] = [stage.cluster("cluster-1"), stage.cluster("cluster-2")];
  await stage.start();
});
after(() => stage[Symbol.asyncDispose]());

describe("with records on a hub", { concurrency: 5 }, () => {
  conformanceCases(() => stage);
});

describe("a hub that fails", () => {
  let losses: readonly Witness[];
  before(async () => {
    await c1.offer("shop/web", "10.1.0.7");
    await c2.offer("shop/web", "10.2.0.7");
    await everywhere("shop/web", ["10.1.0.7", "10.2.0.7"]);
    losses = [new Witness(c1), new Witness(c2)];
  });
  after(async () => {
    for (const one of losses) await one[Symbol.asyncDispose]();
  });

  /** Waits until both clusters import just these endpoints, all of them ready. */
  async function everywhere(key: string, addresses: readonly string[]): Promise<void> {
    for (const cluster of [c1, c2]) {
      await cluster.untilImported(key, addresses);
      await cluster.untilReady(key, Object.fromEntries(addresses.map((one) => [one, "ready"])));
    }
  }

  function taken(): string[] {
    return losses.flatMap((one) => one.taken());
  }

  test("changes made while the hub is down are in all clusters after its return", async () => {
    await stage.hub.kill();
    await c1.offer("shop/cart", "10.1.0.8");
    await c2.endpoints("shop/web", ["10.2.0.7", "10.2.0.9"]);
    await stage.hub.start();
    await everywhere("shop/web", ["10.1.0.7", "10.2.0.7", "10.2.0.9"]);
    await everywhere("shop/cart", ["10.1.0.8"]);
    assert.deepEqual(taken(), []);
  });

  test("members write newer exports to a hub restored from a backup, and no cluster loses them meanwhile", async () => {
    const backup = await stage.hub.backup();
    await c1.offer("shop/late", "10.1.0.10");
    await c2.endpoints("shop/web", ["10.2.0.7", "10.2.0.9", "10.2.0.11"]);
    await everywhere("shop/late", ["10.1.0.10"]);
    await everywhere("shop/web", ["10.1.0.7", "10.2.0.7", "10.2.0.9", "10.2.0.11"]);
    await stage.hub.restore(backup);
    // What is changed now has to go all of the way, so that all that was to be done before is done.
    await c1.endpoints("shop/late", ["10.1.0.10", "10.1.0.12"]);
    await c2.endpoints("shop/web", ["10.2.0.7", "10.2.0.9", "10.2.0.11", "10.2.0.12"]);
    await everywhere("shop/late", ["10.1.0.10", "10.1.0.12"]);
    await everywhere("shop/web", ["10.1.0.7", "10.2.0.7", "10.2.0.9", "10.2.0.11", "10.2.0.12"]);
    assert.deepEqual(taken(), []);
  });

  test("members write their exports to an empty new hub, and no cluster loses any meanwhile", async () => {
    await stage.hub.restore();
    await stage.prepareHub();
    await c1.endpoints("shop/late", ["10.1.0.10", "10.1.0.12", "10.1.0.13"]);
    await c2.endpoints("shop/web", ["10.2.0.7", "10.2.0.9", "10.2.0.11", "10.2.0.12", "10.2.0.13"]);
    await everywhere("shop/late", ["10.1.0.10", "10.1.0.12", "10.1.0.13"]);
    const web = ["10.1.0.7", "10.2.0.7", "10.2.0.9", "10.2.0.11", "10.2.0.12", "10.2.0.13"];
    await everywhere("shop/web", web);
    await everywhere("shop/cart", ["10.1.0.8"]);
    assert.deepEqual(taken(), []);
  });

  test("a pod that comes and goes while the hub rejects a cluster's writes is in its own import, and in the others' later", async () => {
    const others = ["10.2.0.7", "10.2.0.9", "10.2.0.11", "10.2.0.12", "10.2.0.13"];
    await c1.endpoints("shop/web", ["10.1.0.7"]);
    await everywhere("shop/web", ["10.1.0.7", ...others]);
    const metadata = { namespace: registryNamespace(c1.id), name: "publisher" };
    await stage.hub.admin.delete({ apiVersion: RBAC, kind: "RoleBinding", metadata });
    await c1.endpoints("shop/web", ["10.1.0.7", "10.1.0.8"]);
    await c1.untilImported("shop/web", ["10.1.0.7", "10.1.0.8", ...others]);
    await c1.endpoints("shop/web", ["10.1.0.7", "10.1.0.8"], false);
    await c1.untilReady("shop/web", { "10.1.0.7": "dead", "10.1.0.8": "dead" });
    await c1.endpoints("shop/web", ["10.1.0.8"]);
    await c1.untilImported("shop/web", ["10.1.0.8", ...others]);
    await c1.untilCondition("shop/web", "Ready", "False Failed");
    await c2.untilImported("shop/web", ["10.1.0.7", ...others]);
    for (const object of hubRights(IDS)) await stage.hub.admin.apply(object);
    await everywhere("shop/web", ["10.1.0.8", ...others]);
    await c1.untilCondition("shop/web", "Ready", "True Exported");
  });
});
