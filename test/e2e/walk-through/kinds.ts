import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually } from "../../support/agent-process.ts";
import type { Clusterset } from "../clusterset.ts";
import { blocksOf, functionOf } from "../guide.ts";
import { Client } from "./client.ts";
import { Seen } from "./seen.ts";

const GUIDE = "walk-throughs.md";
const [FIRST, SECOND] = ["cluster-1", "cluster-2"] as const;
const BOTH = [FIRST, SECOND] as const;
const ZONE = "kinds.svc.clusterset.local";

/** How long kubelets and DNS may take to follow. */
const PATIENCE_MS = 60_000;

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** What KEP-1645 says of each type of Service, told with kubectl: "Types and conflicts" of the guide. */
export function kinds(set: () => Clusterset): void {
  const [one = "", gate = "", other = "", look = "", giveIn = "", rights = "", end = "", ...more] =
    blocksOf(GUIDE, "Types and conflicts");
  const seen = () => new Seen(set().clusters, "kinds");
  const client = (cluster: string) => new Client(set().clusters, cluster, "kinds");

  describe("types and conflicts: a Service of each type, exported by two clusters", {
    concurrency: false,
  }, () => {
    test("what is exported is imported by its exporter, and not where the namespace is missing", async () => {
      assert.deepEqual(more, []);
      await set().shell(`${one}\n${gate}`);
      const names = ["gate", "mixed", "plain", "pods"].map(nameOfImport);
      await eventually(async () => assert.deepEqual(await imports(FIRST), names), PATIENCE_MS);
      assert.deepEqual(await imports(SECOND), []);
    });

    test("with the namespace come all imports, one of each name, whoever exports it", async () => {
      await set().shell(`${functionOf(GUIDE, "kinds")}\n${other}`);
      for (const id of BOTH) {
        await eventually(async () => {
          assert.equal(await exporters(id, "plain"), `${FIRST} ${SECOND}`);
          assert.equal(await exporters(id, "pods"), `${FIRST} ${SECOND}`);
          assert.equal(await exporters(id, "mixed"), `${FIRST} ${SECOND}`);
          assert.equal((await imports(id)).length, 4);
        }, PATIENCE_MS);
      }
      await Promise.all(BOTH.map((id) => set().shell(Client.commands(id, "kinds"))));
    });

    test("who exports an ExternalName is told that it cannot be, and nobody imports it", async () => {
      for (const id of BOTH) {
        const { status, reason } = await condition(id, "elsewhere", "Valid");
        assert.deepEqual([status, reason], ["False", "InvalidServiceType"]);
        assert.ok(!(await imports(id)).includes(nameOfImport("elsewhere")));
      }
    });

    test("a headless import has no address; its name leads to the ready pods of all clusters, and each pod has one of its own", async () => {
      const pods = await Promise.all(BOTH.map((id) => seen().pods(id, "serve")));
      const everywhere = pods.flatMap(({ addresses }) => addresses).sort();
      assert.equal(everywhere.length, 4);
      for (const id of BOTH) {
        assert.equal(await seen().field(id, "serviceimport/pods", ".spec.type"), "Headless");
        assert.equal(await seen().field(id, "serviceimport/pods", ".spec.ips[*]"), "");
        await eventually(async () => {
          assert.deepEqual(await client(id).lookup("A", `pods.${ZONE}`), everywhere);
        }, PATIENCE_MS);
        for (const home of BOTH) {
          const address = await seen().field(home, "pod/serve-1", ".status.podIP");
          const name = `serve-1.${home}.pods.${ZONE}`;
          assert.deepEqual(await client(id).lookup("A", name), [address]);
          // A StatefulSet has pods of the same name everywhere, so who answers shows only by the address.
          assert.deepEqual(await client(id).answeredBy(`http://${name}:8080`, 3), ["serve-1"]);
        }
        const ports = await client(id).lookup("SRV", `_http._tcp.pods.${ZONE}`);
        const hosts = ["serve-0", "serve-1"].flatMap((pod) => BOTH.map((home) => `${pod}.${home}`));
        assert.deepEqual(
          ports,
          hosts.map((host) => `8080 ${host}.pods.${ZONE}`),
        );
      }
    });

    test("a Service with a port on nodes is imported with an address, and opens no port in the other cluster", async () => {
      const pods = ["serve-0", "serve-1"];
      assert.deepEqual(await client(SECOND).answeredBy(`http://gate.${ZONE}`), pods);
      assert.deepEqual(await client(SECOND).answeredBy(await nodePort(FIRST)), pods);
      assert.equal((await client(SECOND).calls(await nodePort(SECOND), 1))[0]?.error, "refused");
    });

    test("where types differ the oldest export counts, both exporters are told, and connections go on", async () => {
      const said = await set().shell(look);
      assert.match(said, /\nmixed +ClusterSetIP +\["241\./);
      assert.match(said, /\nplain +ClusterSetIP +\["241\./);
      assert.match(said, /\npods +Headless +(\[\])? +\d/);
      for (const id of BOTH) {
        const { status, reason, message } = await condition(id, "mixed", "Conflict");
        assert.deepEqual([status, reason], ["True", "TypeConflict"]);
        assert.equal(
          message,
          `type is that of the oldest export, "ClusterSetIP" of ${FIRST}; 1/2 clusters disagree.`,
        );
        assert.equal((await condition(id, "plain", "Conflict")).reason, "NoConflicts");
        assert.deepEqual(await client(id).answeredBy(`http://mixed.${ZONE}:8080`), [
          "serve-0",
          "serve-1",
        ]);
      }
    });

    test("when the younger export is gone, so is the conflict, and the import is what it was", async () => {
      const vip = await seen().vip(FIRST, "mixed");
      await set().shell(giveIn);
      assert.equal((await condition(FIRST, "mixed", "Conflict")).reason, "NoConflicts");
      for (const id of BOTH) {
        await eventually(
          async () => assert.equal(await exporters(id, "mixed"), FIRST),
          PATIENCE_MS,
        );
        assert.equal(await seen().vip(id, "mixed"), vip);
      }
    });

    test("who may edit everything in a namespace may export when told so, and never write imports", async () => {
      const said = await set().shell(rights);
      assert.match(said, /^serviceexports: yes\nserviceimports: no$/m);
      const jane = ["--as=jane", "delete", "serviceimport/plain", "--dry-run=server"];
      await assert.rejects(seen().kubectl(FIRST, ...jane), /User "jane" cannot delete/);
    });

    test("with the last exports, imports, slices, rules and names are gone in both clusters, and Services are as they were", async () => {
      await set().shell(end);
      for (const id of BOTH) {
        await eventually(async () => {
          const label = "multicluster.kubernetes.io/service-name";
          assert.deepEqual(await seen().names(id, "endpointslices", "-l", label), []);
          assert.deepEqual(await seen().rules(id, "kinds/"), []);
          for (const name of ["gate", "plain", "pods"]) {
            assert.deepEqual(await client(id).lookup("A", `${name}.${ZONE}`), []);
          }
        }, PATIENCE_MS);
        const services = ["elsewhere", ...(id === FIRST ? ["gate"] : []), "mixed", "plain", "pods"];
        assert.deepEqual(
          await seen().names(id, "services"),
          services.map((name) => `service/${name}`),
        );
      }
    });

    /** The port that the Service `gate` has on nodes, on one of a cluster. */
    async function nodePort(cluster: string): Promise<string> {
      const [address] = (
        await seen().field(cluster, "nodes", ".items[0].status.addresses[*].address")
      ).split(" ");
      return `http://${address}:30080`;
    }

    function imports(cluster: string): Promise<string[]> {
      return seen().names(cluster, "serviceimports");
    }

    function exporters(cluster: string, name: string): Promise<string> {
      return seen().field(cluster, `serviceimport/${name}`, ".status.clusters[*].cluster");
    }

    async function condition(cluster: string, name: string, type: string): Promise<Condition> {
      const path = `.status.conditions[?(@.type=="${type}")]`;
      return JSON.parse(await seen().field(cluster, `serviceexport/${name}`, path));
    }
  });
}

function nameOfImport(name: string): string {
  return `serviceimport.multicluster.x-k8s.io/${name}`;
}
