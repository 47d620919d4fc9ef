import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually } from "../../support/agent-process.ts";
import type { Clusterset } from "../clusterset.ts";
import { blocksOf } from "../guide.ts";
import { Client } from "./client.ts";
import { Seen } from "./seen.ts";

const [EXPORTER, IMPORTER] = ["cluster-1", "cluster-2"] as const;
const BOTH = [EXPORTER, IMPORTER] as const;
const ZONE = "automatic.svc.clusterset.local";

/** How long kubelets, controllers and DNS may take to follow. */
const PATIENCE_MS = 60_000;

interface Slice {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly endpoints: readonly {
    readonly addresses: readonly string[];
    readonly conditions: { readonly ready: boolean };
  }[];
}

/** The tutorial of the Cloud Map controller, without a cloud: "Automatic" of the guide. */
export function automatic(set: () => Clusterset): void {
  const [
    identity = "",
    deployment = "",
    exports = "",
    look = "",
    unready = "",
    ready = "",
    end = "",
    ...more
  ] = blocksOf("walk-throughs.md", "Automatic");
  const choice = unready.slice(0, unready.indexOf("\n"));
  const seen = () => new Seen(set().clusters, "automatic");
  const client = () => new Client(set().clusters, IMPORTER, "automatic");

  describe("automatic: one cluster exports, the other one imports without anybody's doing", {
    concurrency: false,
  }, () => {
    let pods: { names: string[]; addresses: string[] };
    let vip: string;

    test("clusters are who their ClusterProperties say", async () => {
      assert.deepEqual(more, []);
      const said = await set().shell(identity);
      assert.match(said, /^cluster\.clusterset\.k8s\.io +cluster-1 +\d/m);
      assert.match(said, /^clusterset\.k8s\.io +prod +\d/m);
    });

    test("imports come by themselves, with an address, the exporter's id, and all its endpoints", async () => {
      await set().shell(deployment);
      await set().shell(exports);
      pods = await seen().pods(EXPORTER, "hello");
      assert.equal(pods.names.length, 3);
      const said = await set().shell(look);
      assert.match(said, /\nhello +ClusterSetIP +\["241\./);
      assert.match(said, /\nhello-pods +Headless +(\[\])? +\d/);
      assert.match(said, /\n\[\{"cluster":"cluster-1"\}\]\n/);
      vip = await seen().vip(IMPORTER, "hello");
      await untilReady("hello", pods.addresses);
      await set().shell(Client.commands(IMPORTER, "automatic"));
    });

    test("by name and by address the importer's pod is answered by all three, and both names are known to DNS", async () => {
      for (const host of [vip, `hello.${ZONE}`]) {
        assert.deepEqual(await client().answeredBy(`http://${host}`), pods.names);
      }
      await untilResolved(`hello.${ZONE}`, [vip]);
      await untilResolved(`hello-pods.${ZONE}`, pods.addresses);
      assert.deepEqual(await client().lookup("SRV", `_http._tcp.hello.${ZONE}`), [
        `80 hello.${ZONE}`,
      ]);
      // The cluster's own zone knows nothing of it: the importer has no such Service.
      assert.deepEqual(await client().lookup("A", "hello.automatic.svc.cluster.local"), []);
    });

    test("a pod that is not ready is carried as such, and left out of connections and of the headless name", async () => {
      await set().shell(unready);
      const name = await chosen();
      const address = await seen().field(EXPORTER, name, ".status.podIP");
      const others = pods.addresses.filter((one) => one !== address);
      assert.equal(others.length, 2);
      await untilReady("hello", others);
      await untilReady("hello-pods", others);
      await untilResolved(`hello-pods.${ZONE}`, others);
      await eventually(async () => {
        const answered = await client().answeredBy(`http://hello.${ZONE}`);
        assert.deepEqual(
          answered.map((one) => `pod/${one}`),
          pods.names.map((one) => `pod/${one}`).filter((one) => one !== name),
        );
      }, PATIENCE_MS);
    });

    test("when it is ready again, it is back in all of them", async () => {
      await set().shell(`${choice}\n${ready}`);
      await untilReady("hello", pods.addresses);
      await untilReady("hello-pods", pods.addresses);
      await untilResolved(`hello-pods.${ZONE}`, pods.addresses);
      await eventually(async () => {
        assert.deepEqual(await client().answeredBy(`http://${vip}`), pods.names);
      }, PATIENCE_MS);
    });

    test("with the Service goes its import, and the ServiceExport says why; with the Service it is back, at the same address", async () => {
      const said = await set().shell(end);
      assert.match(said, /"reason":"NoService"/);
      for (const id of BOTH) {
        const imports = await seen().names(id, "serviceimports");
        assert.deepEqual(imports, ["serviceimport.multicluster.x-k8s.io/hello-pods"], id);
      }
      await set().shell(exports);
      await eventually(async () => {
        assert.equal(await seen().vip(IMPORTER, "hello"), vip);
        assert.deepEqual(await client().answeredBy(`http://${vip}`), pods.names);
      }, PATIENCE_MS);
    });

    /** The pod that is chosen in the guide: pod/hello-… */
    async function chosen(): Promise<string> {
      const said = await set().shell(`${choice}\necho "pod/$pod"`);
      return said.trim();
    }

    /** The importer's slices of it list all three endpoints, and just these of them as ready. */
    async function untilReady(name: string, addresses: readonly string[]): Promise<void> {
      const labels = `multicluster.kubernetes.io/service-name=${name}`;
      await eventually(async () => {
        const { items } = await seen().get<{ items: Slice[] }>(
          ...[IMPORTER, "endpointslices", "-l", labels],
        );
        const all = items.flatMap(({ endpoints }) => endpoints);
        assert.deepEqual(all.flatMap((one) => one.addresses).sort(), pods.addresses);
        const ready = all.filter(({ conditions }) => conditions.ready);
        assert.deepEqual(ready.flatMap((one) => one.addresses).sort(), addresses);
        for (const { metadata } of items) {
          assert.equal(metadata.labels["multicluster.kubernetes.io/source-cluster"], EXPORTER);
        }
      }, PATIENCE_MS);
    }

    /** DNS remembers answers for some seconds. */
    async function untilResolved(name: string, addresses: readonly string[]): Promise<void> {
      await eventually(async () => {
        assert.deepEqual(await client().lookup("A", name), addresses);
      }, PATIENCE_MS);
    }
  });
}
