import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { BACKENDS } from "../backends.ts";
import { Held } from "../connections/held.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import { request, serve } from "../lab/programs.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../stages/agent-process.ts";

// Walls, weights and min-ready of docs/guides/cluster-selectors.md, with real connections. The tests of a backend are one story, in order.

const VIP = "241.0.1.7";
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const KEY = "demo/serve";
const PODS = { old: "10.1.0.11", "old-2": "10.1.0.12", new: "10.1.0.13" } as const;
const EMPTY_LIST = "[]";
const ONLY_OLD =
  '[{"propertySelector":{"matchProperties":{"cluster.clusterset.k8s.io":"@SameAsImporter@"}}}]';
/** Milliseconds until a change has to be live. */
const PATIENCE = 60_000;
const CONNECTIONS = 100;

for (const { title, flags } of BACKENDS) {
  describe(`policies of an import's tiers, with real connections, ${title}`, () => {
    let lab: Lab;
    let manifests: ManifestDirectory;
    let agent: AgentProcess;
    const client = () => lab.pod("c1", "n1", "client");

    before(async () => {
      const pods = Object.fromEntries(Object.entries(PODS).map(([name, ip]) => [name, [ip]]));
      const nodes = [{ name: "n1", pods: { ...pods, client: [] } }];
      lab = await Lab.create({ clusters: [{ id: "c1", nodes }] });
      for (const name of Object.keys(PODS)) {
        const server = lab.pod("c1", "n1", name).spawn(serve("--name", name));
        await server.line(/serving/, PATIENCE);
      }
      manifests = new ManifestDirectory(lab, "manifests");
      annotate({});
      endpoints("old", { old: true, "old-2": true });
      endpoints("new", { new: true });
      agent = new AgentProcess(lab.node("c1", "n1"), manifests.path, [
        "--cluster-id",
        "old",
        ...flags,
      ]);
      await agent.start();
    });
    after(async () => {
      await agent.stop();
      await lab.remove();
    });

    function annotate(policies: Readonly<Record<string, string>>): void {
      const annotations = Object.fromEntries(
        Object.entries(policies).map(([name, value]) => [`clusterset-proxy.io/${name}`, value]),
      );
      const made = importObject(KEY, [VIP], [HTTP]);
      const metadata = { namespace: "demo", name: "serve", annotations };
      manifests.write("import", { ...made, metadata });
    }

    /** The endpoints of a cluster: whether each is ready. */
    function endpoints(cluster: string, pods: Partial<Record<keyof typeof PODS, boolean>>): void {
      const found = Object.entries(pods).map(([pod, ready]) => ({
        addresses: [PODS[pod as keyof typeof PODS]],
        conditions: { ready, serving: ready },
      }));
      const ports = [{ ...HTTP, port: 8080 }];
      manifests.write(cluster, sliceObject(`serve-${cluster}`, KEY, { cluster }, ports, found));
    }

    /** The servers of so many connections, by cluster; a connection that fails counts under its error. */
    async function servers(count = CONNECTIONS): Promise<ReadonlyMap<string, number>> {
      const { stdout } = await client().run(request("--count", `${count}`, `tcp://${VIP}:80`));
      const lines = stdout.split("\n").filter((line) => line.startsWith('{"at"'));
      const found = new Map<string, number>();
      for (const line of lines) {
        const { name, error } = JSON.parse(line) as { name?: string; error?: string };
        const key = name?.replace("-2", "") ?? error ?? "";
        found.set(key, (found.get(key) ?? 0) + 1);
      }
      return found;
    }

    /** Waits until all of some connections come to this server, or fail so. */
    async function allTo(expected: RegExp): Promise<void> {
      await eventually(async () => {
        const found = [...(await servers(20)).keys()].join();
        assert.match(found, expected);
      }, PATIENCE);
    }

    /** Waits until most of some connections come to one cluster, and some to the other. */
    async function mostTo(most: string, few: string): Promise<void> {
      await eventually(async () => {
        const found = await servers();
        const text = JSON.stringify([...found]);
        assert.ok((found.get(most) ?? 0) >= 0.75 * CONNECTIONS && (found.get(few) ?? 0) >= 1, text);
        assert.equal((found.get(most) ?? 0) + (found.get(few) ?? 0), CONNECTIONS, text);
      }, PATIENCE);
    }

    async function planShows(what: RegExp): Promise<void> {
      await eventually(async () => assert.match(await agent.page(`/plan/${KEY}`), what), PATIENCE);
    }

    /** A connection that stays open. */
    async function hold(): Promise<Held> {
      const process = client().spawn(request("--hold", `http://${VIP}`));
      return new Held(process, await process.line(/name/, PATIENCE));
    }

    async function assertContinues(held: readonly Held[]): Promise<void> {
      const counts = held.map(({ count }) => count);
      await eventually(() => {
        for (const [i, { count }] of held.entries()) assert.ok(count > (counts[i] ?? 0) + 2);
      }, PATIENCE);
      const faults = held.map(({ fault }) => fault);
      assert.deepEqual(new Set(faults), new Set([undefined]));
    }

    test("weights divide connections, and a change of weights cuts none that is established", async () => {
      annotate({ "cluster-selectors": EMPTY_LIST, "cluster-weights": "old=9,new=1" });
      await mostTo("old", "new");
      const held: Held[] = [];
      const isFrom = (cluster: string) => held.some(({ name }) => name.startsWith(cluster));
      while (!isFrom("old") || !isFrom("new")) held.push(await hold());
      annotate({ "cluster-selectors": EMPTY_LIST, "cluster-weights": "old=1,new=9" });
      await mostTo("new", "old");
      await assertContinues(held);
      annotate({ "cluster-selectors": EMPTY_LIST, "cluster-weights": "new=1" });
      await allTo(/^new$/);
      await assertContinues(held);
      await Promise.all(held.map((one) => one.close()));
    });

    test("a wall rejects new connections rather than send them outside, and established ones continue", async () => {
      annotate({ "cluster-selectors": ONLY_OLD });
      await allTo(/^old$/);
      endpoints("old", { old: false, "old-2": false });
      await allTo(/^new$/);
      const held = [await hold()];
      assert.equal(held[0]?.name, "new");
      annotate({ "cluster-selectors": ONLY_OLD, "unselected-clusters": "never" });
      await allTo(/^[^,]*REFUSED[^,]*$/i);
      await assertContinues(held);
      annotate({ "cluster-selectors": EMPTY_LIST, "unselected-clusters": "never" });
      await allTo(/^[^,]*REFUSED[^,]*$/i);
      endpoints("old", { old: true, "old-2": true });
      annotate({ "cluster-selectors": ONLY_OLD, "unselected-clusters": "never" });
      await allTo(/^old$/);
      await Promise.all(held.map((one) => one.close()));
    });

    test("min-ready: a tier is used once it has enough, and one endpoint less moves nothing", async () => {
      endpoints("old", { old: false, "old-2": false });
      annotate({ "min-ready": "100%" });
      await allTo(/^new$/);
      endpoints("old", { old: false, "old-2": true });
      await planShows(/too-few-ready/);
      await allTo(/^new$/);
      endpoints("old", { old: true, "old-2": true });
      await allTo(/^old$/);
      endpoints("old", { old: true, "old-2": false });
      await planShows(/not-ready/);
      await allTo(/^old$/);
      endpoints("old", { old: false, "old-2": false });
      await allTo(/^new$/);
    });
  });
}
