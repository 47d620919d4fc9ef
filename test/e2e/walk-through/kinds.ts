import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "../../stages/agent-process.ts";
import type { Clusterset } from "../clusterset.ts";
import type { Reader } from "../reader.ts";
import { Client } from "./client.ts";
import { readerOf, Seen, unread } from "./seen.ts";

const [FIRST, SECOND] = ["cluster-1", "cluster-2"] as const;
const ZONE = "kinds.svc.clusterset.local";
const PODS = ["serve-0", "serve-1"] as const;

/** KEP-1645's rules for each type of Service, with kubectl: "Types and conflicts" of the guide. */
export function kinds(set: () => Clusterset): void {
  describe("types and conflicts: a Service of each type, exported by two clusters", {
    concurrency: false,
  }, () => {
    let reader: Reader;
    let seen: Seen;
    let client: Client;
    before(() => {
      reader = readerOf(set().clusters);
      seen = new Seen(set().clusters, "kinds");
      client = new Client(set().clusters, SECOND, "kinds");
    });
    after(() => reader?.[Symbol.asyncDispose]());

    test("with the namespace come all imports, one of each name, and none of an ExternalName", async () => {
      await reader.follow("Export a Service of each type");
      await reader.follow("Create the namespace in the other cluster");
    });

    test("a headless import's name leads to the ready pods of all clusters, and each pod has a name of its own, where it answers", async () => {
      await reader.follow("DNS of headless Services");
      for (const home of [FIRST, SECOND]) {
        await client.untilAnsweredBy(["serve-1"], `http://serve-1.${home}.pods.${ZONE}:8080`);
      }
    });

    test("a Service with a port on nodes is imported with an address, and opens no port in the other cluster", async () => {
      await client.untilAnsweredBy(PODS, `http://gate.${ZONE}`);
      await client.untilAnsweredBy(PODS, await nodePort(FIRST));
      const [call] = await client.calls(await nodePort(SECOND), 1);
      assert.equal(call?.error, "refused");
    });

    test("where types differ the oldest export counts, both exporters are told, and connections go on; without the younger one the import is what it was", async () => {
      await reader.follow("Conflicting exports");
      await client.untilAnsweredBy(PODS, `http://mixed.${ZONE}:8080`);
      const vip = await seen.vip(FIRST, "mixed");
      await reader.follow("Resolve the conflict");
      for (const id of [FIRST, SECOND]) {
        const exporters = () =>
          seen.field(id, "serviceimport/mixed", ".status.clusters[*].cluster");
        await eventually(async () => assert.equal(await exporters(), FIRST));
        assert.equal(await seen.vip(id, "mixed"), vip);
      }
    });

    test("who may edit everything in a namespace may export when told so, and never write imports", async () => {
      await reader.follow("Grant permission to export");
    });

    test("with the last exports, imports, slices, rules and names are gone in both clusters", async () => {
      await reader.follow("Delete the last export");
      assert.deepEqual(unread(reader, "Types and conflicts"), []);
      const label = "multicluster.kubernetes.io/service-name";
      for (const id of [FIRST, SECOND]) {
        await eventually(async () => {
          const slices = await seen.kubectl(id, "get", "endpointslices", "-l", label, "-o", "name");
          assert.equal(slices, "");
          assert.deepEqual(await seen.rules(id), []);
          const names = await new Client(set().clusters, id, "kinds").resolve(
            ...["gate", "plain", "pods"].map((name) => `A:${name}.${ZONE}`),
          );
          for (const { error } of names) assert.equal(error, "ENOTFOUND");
        });
      }
    });

    /** The port that `gate` has on nodes, on one of a cluster. */
    async function nodePort(cluster: string): Promise<string> {
      const path = ".items[0].status.addresses[0].address";
      return `http://${await seen.field(cluster, "nodes", path)}:30080`;
    }
  });
}
