import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import { Clusters } from "../cluster/clusters.ts";
import { eventually } from "../stages/agent-process.ts";
import { assertHeld, assertNoneFailed, Caller } from "./caller.ts";
import { assertNone, deniedIn } from "./denied.ts";
import { effectOf, untilAnswered } from "./effect.ts";
import { productImages } from "./images.ts";
import { paste, Reader } from "./reader.ts";
import { tracesIn } from "./rules.ts";
import { web } from "./web.ts";

// docs/guides/migrate-old-cluster.md, block by block, from the begin until the old cluster is switched off. The service proxies of
// the two clusters differ. Pods of both clusters call all the time, by the Service's own name and by the clusterset's. The tests
// are one story, in order.

const GUIDE = "migrate-old-cluster.md";
const [OLD, NEW] = ["old", "new"] as const;
const BY = { old: /^old\/web$/, new: /^new\/web$/ } as const;

/** The domain that clients have always used, and that of the clusterset. */
const [OWN, SHARED] = ["cluster.local", "clusterset.local"] as const;

/** Longer than a change of weights takes, on a machine that does other things, too. */
const PATIENCE_MS = 60_000;

interface Client {
  readonly cluster: typeof OLD | typeof NEW;
  readonly domain: typeof OWN | typeof SHARED;
}

describe("a Service moves to a new cluster while pods of both clusters call it", () => {
  const clients = new Map<Client, Caller>();
  const held = new Map<Client, Caller>();
  let clusters: Clusters;
  let reader: Reader;
  before(async () => {
    clusters = await Clusters.create({
      ...{ clusters: 2, names: [OLD, NEW], proxies: ["iptables", "nftables"] },
      images: await productImages(),
    });
    reader = new Reader(clusters, GUIDE);
    await deploy(OLD);
    await call({ cluster: OLD, domain: OWN });
    await untilAnswered(those(), BY.old);
  });
  after(async () => {
    await reader?.[Symbol.asyncDispose]();
    await clusters?.remove();
  });

  test("a join changes nothing for clients of the old name", async (t) => {
    await answered(t, "joined", {}, BY.old, "Join both");
  });

  test("with weights 100 to 0, the old cluster gets all calls by the clusterset's name, also when the new one serves", async (t) => {
    await reader.follow("Export from the old cluster");
    for (const cluster of [OLD, NEW]) await call({ cluster, domain: SHARED });
    await hold({ cluster: OLD, domain: SHARED }, "held-by-old");
    await deploy(NEW);
    await answered(t, "new one serves", {}, BY.old, "Deploy in the new cluster");
    await call({ cluster: NEW, domain: OWN });
    await untilAnswered(those({ cluster: NEW, domain: OWN }), BY.new);
    await reader.follow("Move clients to the clusterset's name");
  });

  test("with weights 90 to 10, clients of both clusters get both by the clusterset's name", async () => {
    await reader.follow("Try the new cluster with a few");
    for (const caller of those({ domain: SHARED })) {
      const { length } = await caller.calls();
      await eventually(async () => {
        const names = (await caller.calls()).slice(length).map(({ name = "" }) => name);
        for (const by of Object.values(BY)) assert.ok(names.some((name) => by.test(name)));
      }, PATIENCE_MS);
    }
    await untilAnswered(those({ cluster: OLD, domain: OWN }), BY.old);
  });

  test("with weights 0 to 100, the new cluster gets all calls by the clusterset's name, and a connection to the old one stays", async (t) => {
    await answered(t, "0 to 100", { domain: SHARED }, BY.new, "Send all to the new cluster");
    await untilAnswered(those({ cluster: OLD, domain: OWN }), BY.old);
    await release(OLD, BY.old);
    for (const cluster of [OLD, NEW]) await hold({ cluster, domain: SHARED }, "held-by-new");
  });

  test("scaled to zero, the old cluster's Service is served by the new one at the same name", async (t) => {
    await answered(t, "scaled to 0", {}, BY.new, "Scale the old application to zero");
    const pods = ["wait", "--for=delete", "--timeout=60s", "pods", "-l", "app=web"];
    await clusters.kubectl(OLD, ["-n", "shop", ...pods]);
    await untilAnswered(those(), BY.new);
  });

  test("drained and withdrawn, the old cluster serves nothing, and its clients still get the new one", async (t) => {
    await answered(t, "drained", {}, BY.new, "Drain the old cluster");
    await answered(t, "withdrawn", {}, BY.new, "Withdraw its exports");
    await release(OLD, BY.new);
    await stop(OLD);
  });

  test("the old cluster leaves without a trace and is switched off, and no call in the new one fails", async (t) => {
    await answered(t, "left", {}, BY.new, "Leave");
    assert.deepEqual(reader.left, []);
    assert.deepEqual(await tracesIn(clusters, OLD), []);
    const { plane, nodes } = clusters.cluster(OLD);
    await effectOf(t, "switched off", those(), BY.new, () =>
      Promise.all([plane.kill(), ...nodes.map((node) => node.powerOff())]),
    );
    await release(NEW, BY.new);
    await stop(NEW);
    assertNone(deniedIn(clusters.cluster(NEW).plane.auditFile));
  });

  /** The Service with a pod that answers with its cluster's name, and pauses before it ends. */
  async function deploy(cluster: string): Promise<void> {
    const container = `          env: [{ name: POD_NAME, value: ${cluster}/web }]
          lifecycle: { preStop: { sleep: { seconds: 10 } } }`;
    await paste(clusters, web({ cluster, namespace: "shop", name: "web", container }));
  }

  async function call(client: Client): Promise<void> {
    clients.set(client, await begin(client, client.domain.replace(".", "-")));
  }

  /** Holds a connection open. */
  async function hold(client: Client, name: string): Promise<void> {
    held.set(client, await begin(client, name, true));
  }

  function begin({ cluster, domain }: Client, name: string, hold = false): Promise<Caller> {
    const target = `http://web.shop.svc.${domain}`;
    // A busy machine can block for seconds.
    const options = { cluster, namespace: "shop", name, target, hold, timeoutMs: 20_000 };
    return Caller.start({ clusters }, options);
  }

  /** The callers, but for those that differ from this. */
  function those(such: Partial<Client> = {}): Caller[] {
    return [...clients].flatMap(([{ cluster, domain }, caller]) =>
      (such.cluster ?? cluster) === cluster && (such.domain ?? domain) === domain ? caller : [],
    );
  }

  /** Follows a section, after which clients get responses of that pod only; no call fails meanwhile. */
  async function answered(
    t: TestContext,
    what: string,
    such: Partial<Client>,
    by: RegExp,
    section: string,
  ): Promise<void> {
    const { failed } = await effectOf(t, what, those(such), by, () => reader.follow(section));
    assert.deepEqual(failed, {}, what);
  }

  /** Ends the calls of a cluster. None of them has failed since they began. */
  async function stop(cluster: Client["cluster"]): Promise<void> {
    for (const caller of those({ cluster })) assertNoneFailed(await caller.stop(), cluster);
    for (const client of clients.keys()) if (client.cluster === cluster) clients.delete(client);
  }

  /** Ends the connections of a cluster. All that came over each was from that pod. */
  async function release(cluster: Client["cluster"], by: RegExp): Promise<void> {
    for (const [client, caller] of held) {
      if (client.cluster !== cluster) continue;
      assertHeld(await caller.stop(), by);
      held.delete(client);
    }
  }
});
