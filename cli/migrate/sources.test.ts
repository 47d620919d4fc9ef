import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../test/generators/facts.ts";
import { foreignObjects } from "../../test/migrations/read-objects.ts";
import { type Found, type FoundObject, foundObject } from "./found.ts";
import {
  type Migration,
  manifestsOf,
  migrationText,
  type ObjectStep,
  severityOf,
  stepsOf,
} from "./migration.ts";
import { addressRules } from "./objects.ts";
import { FROM } from "./sources.ts";

const FIELDS: Readonly<Record<string, keyof Found>> = {
  Service: "services",
  ServiceExport: "exports",
  ServiceImport: "imports",
  EndpointSlice: "slices",
  ClusterProperty: "properties",
  Namespace: "namespaces",
  DaemonSet: "workloads",
};

/** A cluster with these objects; `joined`: with agents, whose range is 241.0.0.0/8. */
function found(objects: readonly object[], joined = true): Found {
  const lists: Record<string, FoundObject[]> = Object.fromEntries(
    Object.values(FIELDS).map((field) => [field, []]),
  );
  for (const raw of objects) {
    const object = foundObject(raw);
    const list = lists[FIELDS[(raw as { kind: string }).kind] ?? ""];
    if (object !== undefined) list?.push(object);
  }
  const all = { context: "c2", ...lists } as unknown as Found;
  return joined ? { ...all, addresses: addressRules([cidr("241.0.0.0/8")], all.imports, []) } : all;
}

function lines({ findings }: Migration): string[] {
  return findings.map(({ object, reason, step }) => `${object}: ${reason} ${step ?? ""}`.trim());
}

const made = (migration: Migration, step: ObjectStep) => manifestsOf(migration, step);

function object(kind: string, key: string, more: object = {}) {
  const [name = "", namespace] = key.split("/").reverse();
  return { kind, metadata: { ...(namespace && { namespace }), name }, ...more };
}

describe("Karmada", () => {
  const karmada = foreignObjects("karmada.yaml");

  test("imports stay, the derived Service becomes an alias, a MultiClusterService is exported", () => {
    const migration = FROM.karmada.migrate(found(karmada));
    assert.deepEqual(lines(migration), [
      "ServiceImport shop/web: taken-over",
      "Service shop/derived-web: made alias",
      "EndpointSlice shop/member1-api-4tq9z: left-behind",
      "Service shop/api: no-counterpart",
      "Service shop/api: made export",
    ]);
    assert.deepEqual(made(migration, "alias"), [
      object("Service", "shop/derived-web", {
        apiVersion: "v1",
        spec: { type: "ExternalName", externalName: "web.shop.svc.clusterset.local" },
      }),
    ]);
    assert.deepEqual(made(migration, "export"), [exportOf("shop/api")]);
  });

  test("an alias that was made, and a Service that is exported, are not made again", () => {
    const migration = FROM.karmada.migrate(
      found([
        ...karmada.filter(({ metadata: { name } }) => name !== "derived-web"),
        object("Service", "shop/derived-web", { spec: { type: "ExternalName" } }),
        object("ServiceExport", "shop/api"),
      ]),
    );
    assert.deepEqual([...made(migration, "alias"), ...made(migration, "export")], []);
  });
});

describe("Cloud Map", () => {
  const cloudMap = foreignObjects("cloud-map.yaml");
  /** The same, with an import that has this spec, and these annotations if any. */
  const withImport = (spec: object, annotations?: object): Found => {
    const more = { spec: { type: "ClusterSetIP", ...spec } };
    return found(
      cloudMap.map(({ metadata, ...one }) =>
        one.kind === "ServiceImport"
          ? { ...one, ...more, metadata: { ...metadata, ...(annotations && { annotations }) } }
          : { ...one, metadata },
      ),
    );
  };

  test("identity and imports stay, an address of a derived Service is replaced, the rest is left behind", () => {
    const migration = FROM.cloudmap.migrate(found(cloudMap));
    assert.deepEqual(lines(migration), [
      "ClusterProperty cluster.clusterset.k8s.io: taken-over",
      "ClusterProperty clusterset.k8s.io: taken-over",
      "ServiceImport demo/nginx-hello: made switch",
      "Service demo/imported-mdkbvsrg20: left-behind",
      "EndpointSlice demo/imported-mdkbvsrg20-cm4xn: left-behind",
    ]);
    const [manifest] = made(migration, "switch") as { spec: { ips: string[] } }[];
    assert.match(manifest?.spec.ips.join() ?? "", /^241\.\d+\.\d+\.\d+$/);
  });

  test("before agents are there, the address is not known; with one of ours there is nothing to do", () => {
    const before = FROM.cloudmap.migrate(found(cloudMap, false));
    assert.ok(lines(before).includes("ServiceImport demo/nginx-hello: needs-join switch"));
    assert.deepEqual(made(before, "switch"), []);
    const migration = FROM.cloudmap.migrate(withImport({ ips: ["241.7.7.7"] }));
    assert.ok(lines(migration).includes("ServiceImport demo/nginx-hello: taken-over"));
  });

  test("an import of several clusters gets one address, and one that was adopted another stored spec", () => {
    const spec = { ips: ["172.20.1.1", "172.20.1.2"], sessionAffinity: "None" };
    const adopted = withImport(spec, {
      "multicluster.k8s.aws/derived-service": "[]",
      "clusterset-proxy.io/import": "adopted",
      "clusterset-proxy.io/authored-spec": '{"ips":["172.20.1.1"],"type":"ClusterSetIP"}',
    });
    const [manifest] = made(FROM.cloudmap.migrate(adopted), "switch");
    assert.partialDeepStrictEqual(manifest, {
      metadata: { annotations: { "clusterset-proxy.io/authored-spec": '{"type":"ClusterSetIP"}' } },
    });
    assert.equal((manifest as { spec: { ips: string[] } }).spec.ips.length, 1);
  });

  test("a cluster with the older property gets the present one of the same value", () => {
    const spec = { value: "cluster-2" };
    const before = object("ClusterProperty", "id.k8s.io", { spec });
    const apiVersion = "about.k8s.io/v1beta1";
    assert.deepEqual(made(FROM.cloudmap.migrate(found([before])), "identity"), [
      object("ClusterProperty", "cluster.clusterset.k8s.io", { apiVersion, spec }),
    ]);
  });
});

describe("Submariner", () => {
  const submariner = foreignObjects("submariner.yaml");

  test("exports and imports stay, Lighthouse's records and slices are left behind", () => {
    assert.deepEqual(lines(FROM.submariner.migrate(found(submariner))), [
      "ServiceExport store/cart: taken-over",
      "ServiceImport submariner-operator/cart-store-cluster-2: left-behind",
      "ServiceImport store/cart: taken-over",
      "EndpointSlice store/cart-8r2fj: left-behind",
    ]);
  });

  test("with Globalnet nothing can be migrated, and no step is printed", () => {
    const globalnet = object("DaemonSet", "submariner-operator/submariner-globalnet");
    const migration = FROM.submariner.migrate(found([...submariner, globalnet]));
    assert.deepEqual(lines(migration), [
      "DaemonSet submariner-operator/submariner-globalnet: translated-addresses",
    ]);
    assert.deepEqual(migration.findings.map(severityOf), ["fault"]);
  });
});

describe("Cilium", () => {
  const cilium = foreignObjects("cilium.yaml");
  const OWN = "cluster.clusterset.k8s.io";

  test("shared Services are exported, and their affinity becomes a list of selectors", () => {
    const migration = FROM.cilium.migrate(found(cilium));
    const near = [{ propertySelector: { matchProperties: { [OWN]: "@SameAsImporter@" } } }];
    const others = { key: OWN, operator: "NotIn", values: ["@SameAsImporter@"] };
    const far = [{ propertySelector: { matchExpressions: [others] } }];
    assert.deepEqual(made(migration, "export"), [
      exportOf("mesh/near", near),
      exportOf("mesh/far", far),
      exportOf("mesh/even", []),
    ]);
  });

  test("one that is not shared gets no export, but a policy on its import, once that exists", () => {
    const all = lines(FROM.cilium.migrate(found(cilium)));
    assert.ok(all.includes("Service mesh/taker: needs-join policy"));
    const taker = object("ServiceImport", "mesh/taker", { spec: { type: "ClusterSetIP" } });
    const [manifest] = made(FROM.cilium.migrate(found([...cilium, taker])), "policy");
    assert.partialDeepStrictEqual(manifest, object("ServiceImport", "mesh/taker"));
  });

  test("that a Service's own ClusterIP leads to all clusters is named; an ordinary Service is not", () => {
    const all = lines(FROM.cilium.migrate(found(cilium)));
    assert.equal(all.filter((line) => line.endsWith("no-counterpart")).length, 4);
    assert.ok(!all.some((line) => line.includes("mesh/alone")));
  });

  test("imports of its MCS support get another address, and their derived Services are left behind", () => {
    const all = lines(FROM.cilium.migrate(found(cilium)));
    assert.ok(all.includes("ServiceImport mesh/api: made switch"));
    assert.ok(all.includes("Service mesh/derived-akkj9a28t6: left-behind"));
  });
});

test("by hand: the Service of an import's name is exported, and copies are left behind", () => {
  const migration = FROM["by-hand"].migrate(found(foreignObjects("by-hand.yaml")));
  assert.deepEqual(lines(migration), [
    "ServiceImport hand/serve: taken-over",
    "Service hand/serve: made export",
    "EndpointSlice hand/imported-serve-x7k2p: left-behind",
  ]);
});

test("steps name the contexts that need them, and those without anything to do are left out", () => {
  const one = { ...FROM.cloudmap.migrate(found(foreignObjects("cloud-map.yaml"))), context: "a'b" };
  const other = { context: "c1", findings: [] };
  const steps = stepsOf(FROM.cloudmap, [one, other]);
  const text = String(migrationText(FROM.cloudmap, [one, other], steps));
  const step = /for c in 'a'\\''b'; do kubectl clusterset migrate --from cloudmap .* --step switch/;
  assert.match(text, step);
  assert.doesNotMatch(text, /--step identity/);
  assert.match(text, /^1\. Join\./m);
});

function exportOf(key: string, list?: readonly object[]): object {
  const annotations = { "clusterset-proxy.io/cluster-selectors": JSON.stringify(list) };
  return object("ServiceExport", key, {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    ...(list && { spec: { exportedAnnotations: annotations } }),
  });
}
