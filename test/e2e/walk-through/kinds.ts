import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { eventually } from "../../stages/agent-process.ts";
import type { Clusterset } from "../clusterset.ts";
import type { Reader } from "../reader.ts";
import { Client } from "./client.ts";
import { PATIENCE_MS, parts, readerOf, unread } from "./follow.ts";
import { Seen } from "./seen.ts";

const [FIRST, SECOND] = ["cluster-1", "cluster-2"] as const;
const BOTH = [FIRST, SECOND] as const;
const ZONE = "kinds.svc.clusterset.local";
const PODS = ["serve-0", "serve-1"] as const;

/** KEP-1645's rules for each type of Service, with kubectl: "Types and conflicts" of the guide. */
export function kinds(set: () => Clusterset): void {
  const seen = () => new Seen(set().clusters, "kinds");
  const client = (cluster: string) => new Client(set().clusters, cluster, "kinds");

  describe("types and conflicts: a Service of each type, exported by two clusters", {
    concurrency: false,
  }, () => {
    const test = parts();
    let reader: Reader;
    before(() => {
      reader = readerOf(set().clusters);
    });
    after(() => reader?.[Symbol.asyncDispose]());

    test("what is exported is imported by its exporter, and not where the namespace is missing", async () => {
      await reader.follow("Export a Service of each type");
      const wanted = ["gate", "mixed", "plain", "pods"].map(importNamed);
      await eventually(async () => assert.deepEqual(await imports(FIRST), wanted), PATIENCE_MS);
      assert.deepEqual(await imports(SECOND), []);
    });

    test("with the namespace come all imports, one of each name, whoever exports it, and none of an ExternalName", async () => {
      await reader.follow("Create the namespace in the other cluster");
      for (const id of BOTH) {
        for (const name of ["plain", "pods", "mixed"]) {
          await eventually(
            async () => assert.equal(await exporters(id, name), `${FIRST} ${SECOND}`),
            PATIENCE_MS,
          );
        }
        assert.equal(await exporters(id, "gate"), FIRST);
        assert.equal((await imports(id)).length, 4);
      }
    });

    test("a headless import has no address; its name leads to the ready pods of all clusters, and each pod has one of its own", async () => {
      await reader.follow("DNS of headless Services");
      const pods = await Promise.all(BOTH.map((id) => seen().pods(id, "serve")));
      const everywhere = pods.flatMap(({ addresses }) => addresses).sort();
      assert.equal(everywhere.length, 4);
      for (const id of BOTH) {
        assert.equal(await seen().field(id, "serviceimport/pods", ".spec.ips[*]"), "");
        await eventually(async () => {
          assert.deepEqual(await client(id).lookup("A", `pods.${ZONE}`), everywhere);
        }, PATIENCE_MS);
      }
      const names = PODS.flatMap((pod) => BOTH.map((home) => `${pod}.${home}.pods.${ZONE}`));
      const ports = await client(SECOND).lookup("SRV", `_http._tcp.pods.${ZONE}`);
      assert.deepEqual(
        ports,
        names.map((name) => `8080 ${name}`),
      );
      // A StatefulSet has pods of the same names in all clusters: the address identifies the pod.
      for (const home of BOTH) {
        const address = await seen().field(home, "pod/serve-1", ".status.podIP");
        const name = `serve-1.${home}.pods.${ZONE}`;
        assert.deepEqual(await client(SECOND).lookup("A", name), [address]);
        await untilAnsweredBy(["serve-1"], `${name}:8080`);
      }
    });

    test("a Service with a port on nodes is imported with an address, and opens no port in the other cluster", async () => {
      await untilAnsweredBy(PODS, `gate.${ZONE}`);
      await untilAnsweredBy(PODS, await nodePort(FIRST));
      const [call] = await client(SECOND).calls(`http://${await nodePort(SECOND)}`, 1);
      assert.equal(call?.error, "refused");
    });

    test("where types differ the oldest export counts, both exporters are told, and connections go on", async () => {
      await reader.follow("Conflicting exports");
      await untilAnsweredBy(PODS, `mixed.${ZONE}:8080`);
    });

    test("when the younger export is gone, so is the conflict, and the import is what it was", async () => {
      const vip = await seen().vip(FIRST, "mixed");
      await reader.follow("Resolve the conflict");
      for (const id of BOTH) {
        await eventually(
          async () => assert.equal(await exporters(id, "mixed"), FIRST),
          PATIENCE_MS,
        );
        assert.equal(await seen().vip(id, "mixed"), vip);
      }
    });

    test("who may edit everything in a namespace may export when told so, and never write imports", async () => {
      await reader.follow("Grant permission to export");
      const jane = ["--as=jane", "delete", "serviceimport/plain", "--dry-run=server"];
      await assert.rejects(seen().kubectl(FIRST, ...jane), /User "jane" cannot delete/);
    });

    test("with the last exports, imports, slices, rules and names are gone in both clusters, and Services are as they were", async () => {
      await reader.follow("Delete the last export");
      assert.deepEqual(unread(reader, "Types and conflicts"), []);
      const label = "multicluster.kubernetes.io/service-name";
      for (const id of BOTH) {
        await eventually(async () => {
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

    async function untilAnsweredBy(pods: readonly string[], host: string): Promise<void> {
      await eventually(
        async () => assert.deepEqual(await client(SECOND).answeredBy(`http://${host}`), pods),
        PATIENCE_MS,
      );
    }

    /** The port that `gate` has on nodes, on one of a cluster. */
    async function nodePort(cluster: string): Promise<string> {
      const path = ".items[0].status.addresses[0].address";
      return `${await seen().field(cluster, "nodes", path)}:30080`;
    }

    function imports(cluster: string): Promise<string[]> {
      return seen().names(cluster, "serviceimports");
    }

    function exporters(cluster: string, name: string): Promise<string> {
      return seen().field(cluster, `serviceimport/${name}`, ".status.clusters[*].cluster");
    }
  });
}

function importNamed(name: string): string {
  return `serviceimport.multicluster.x-k8s.io/${name}`;
}
