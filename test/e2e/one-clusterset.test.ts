import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "../stages/agent-process.ts";
import { assertHeld, assertNoneFailed, Caller } from "./caller.ts";
import { Clusterset } from "./clusterset.ts";
import { Reader } from "./reader.ts";
import { Client, readerOf, Seen, TIMEOUT_MS, unread } from "./seen.ts";

// Guides that begin with a clusterset, by copy and paste, on the same one: debug-a-node.md, and then the part of walk-throughs.md where
// controllers do what is to be done. These stories are told at the same time, each in a namespace of its own.

const [HERE, THERE] = ["cluster-1", "cluster-2"] as const;

/**
 * docs/guides/debug-a-node.md, by copy and paste: each fault is made, and what the guide shows of it is what is seen. The tests are
 * one story, in order.
 */
function debugging(set: () => Clusterset): void {
  describe("the guide for debugging a node", () => {
    let reader: Reader;
    before(async () => {
      const { clusters } = set();
      await using installing = new Reader(clusters, "install.md");
      await installing.follow("Try it");
      const node = clusters.cluster(HERE).node("node-1");
      reader = new Reader(clusters, "debug-a-node.md", { node });
    });
    after(() => reader?.[Symbol.asyncDispose]());

    test("without a fault, the commands for cluster, node and agent show that, and conntrack entries show the endpoint", async () => {
      await reader.follow("Where to look");
      await reader.follow("Which endpoint answers");
    });

    test("rejected: the rule's comment shows that there is no endpoint", async () => {
      await reader.follow("Connections are refused");
    });

    test("too far: the plan shows why the nearer endpoint is excluded", async () => {
      await reader.follow("Traffic goes to the wrong cluster");
    });

    test("hanging: conntrack entries show the endpoint that does not reply", async () => {
      await set().clusters.cut(HERE, THERE, "pods");
      await reader.follow("Connections hang");
      await set().clusters.heal();
    });

    test("no such name: there is no import, and the export's condition has the reason", async () => {
      await reader.follow("A name does not resolve");
    });

    test("not ready: the agent logs which right it lacks, and the rules stay", async () => {
      const agent = "system:serviceaccount:clusterset-proxy:clusterset-agent";
      const end = set().provoke(({ user, code }) => user === agent && code === 403);
      await reader.follow("An agent is not ready");
      end();
    });

    test("changed by another program: repaired, logged and counted; every step of the guide was tested", async () => {
      await reader.follow("Rules disappear or change");
      assert.deepEqual(reader.left, []);
    });
  });
}

const [FIRST, SECOND] = ["cluster-1", "cluster-2"] as const;
const ZONE = "kinds.svc.clusterset.local";
const PODS = ["serve-0", "serve-1"] as const;

/** KEP-1645's rules for each type of Service, with kubectl: "Types and conflicts" of the guide. */
function kinds(set: () => Clusterset): void {
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

const [BRAZIL, CHILE] = ["cluster-1", "cluster-2"] as const;

const CALLER = {
  ...{ cluster: BRAZIL, namespace: "failover", timeoutMs: TIMEOUT_MS },
  target: "http://serve.failover.svc.clusterset.local",
} as const;

/** The failover demo of Karmada's users, between Brazil and Chile: "Own cluster first" of the guide. */
function ownCluster(set: () => Clusterset): void {
  describe("own cluster first: servers in Brazil and Chile, and a client in Brazil", {
    concurrency: false,
  }, () => {
    let reader: Reader;
    let seen: Seen;
    let caller: Caller;
    let held: Caller;
    before(() => {
      reader = readerOf(set().clusters);
      seen = new Seen(set().clusters, "failover");
    });
    after(() => reader?.[Symbol.asyncDispose]());

    test("while only Chile has it, Chile answers, and each of its pods when there are more", async () => {
      await reader.follow("One cluster serves");
      [caller, held] = await Promise.all([
        Caller.start(set(), { ...CALLER, name: "caller" }),
        Caller.start(set(), { ...CALLER, name: "held", hold: true }),
      ]);
      await untilAnsweredBy(CHILE);
      await reader.follow("Scale up");
      await untilAnsweredBy(CHILE);
    });

    test("before the failure Brazil's own server takes all new connections, during it Chile, and after it Brazil's own again; the connection that Chile holds has gone on, and no call has failed", async () => {
      const { length } = await held.calls();
      for (const [heading, cluster] of [
        ["Before the failure", BRAZIL],
        ["During the failure", CHILE],
        ["After the failure", BRAZIL],
      ] as const) {
        await reader.follow(heading);
        await untilAnsweredBy(cluster);
      }
      const lines = await held.calls();
      assertHeld(lines, new RegExp(`^${lines[0]?.name}$`), length);
      assert.ok((await seen.pods(CHILE, "serve")).includes(lines[0]?.name ?? ""));
      assertNoneFailed(await caller.stop());
    });

    test("an import that is deleted while it is exported is made again", async () => {
      const uid = () => seen.field(BRAZIL, "serviceimport/serve", ".metadata.uid");
      const before = await uid();
      await reader.follow("Delete the import");
      assert.notEqual(await uid(), before);
    });

    test("deleted exports leave nothing, in no cluster, registry or node", async () => {
      await reader.follow("Delete the exports");
      assert.deepEqual(unread(reader, "Own cluster first"), []);
    });

    function untilAnsweredBy(cluster: string): Promise<void> {
      return caller.untilAnsweredBy(() => seen.pods(cluster, "serve"));
    }
  });
}

const [EXPORTER, IMPORTER] = ["cluster-1", "cluster-2"] as const;
const NAME = "http://hello.automatic.svc.clusterset.local";

/** The tutorial of the Cloud Map controller, without a cloud: "Automatic" of the guide. */
function automatic(set: () => Clusterset): void {
  describe("automatic: one cluster exports, and the other one imports without a user's action", {
    concurrency: false,
  }, () => {
    let reader: Reader;
    let client: Client;
    let pods: readonly string[];
    let vip: string;
    before(() => {
      reader = readerOf(set().clusters);
      client = new Client(set().clusters, IMPORTER, "automatic");
    });
    after(() => reader?.[Symbol.asyncDispose]());

    test("imports come by themselves, with one address in both clusters; by name and by address all pods answer", async () => {
      for (const heading of ["Identity", "Create a Deployment", "Export two Services"]) {
        await reader.follow(heading);
      }
      await reader.follow("Check the imports");
      const seen = new Seen(set().clusters, "automatic");
      pods = await seen.pods(EXPORTER, "hello");
      assert.equal(pods.length, 3);
      vip = await seen.vip(IMPORTER, "hello");
      assert.equal(await seen.vip(EXPORTER, "hello"), vip);
      for (const target of [`http://${vip}`, NAME]) await client.untilAnsweredBy(pods, target);
    });

    test("a pod gets no connections while it is not ready, and has its share once it is", async () => {
      await reader.follow("Make a pod unready");
      const unready = (await reader.paste('echo "$pod"')).trim();
      const others = pods.filter((pod) => pod !== unready);
      assert.equal(others.length, 2);
      await client.untilAnsweredBy(others, NAME);
      await reader.follow("Make it ready again");
      await client.untilAnsweredBy(pods, NAME);
    });

    test("with the Service goes its import, and connections are rejected; with the Service it is back, at the same address", async () => {
      await reader.follow("Delete the Service");
      assert.deepEqual(unread(reader, "Automatic"), []);
      await eventually(async () => {
        assert.equal((await client.calls(`http://${vip}`, 1))[0]?.error, "refused");
      });
      await reader.follow("Export two Services");
      await client.untilAnsweredBy(pods, `http://${vip}`);
    });
  });
}

let set: Clusterset;
before(async () => {
  set = await Clusterset.create({ clusters: 2, regions: ["eu-west", "us-east"] });
});
after(() => set?.remove());

debugging(() => set);

describe("walk-throughs of a clusterset", { concurrency: 3 }, () => {
  kinds(() => set);
  ownCluster(() => set);
  automatic(() => set);
});
