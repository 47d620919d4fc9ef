import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { queries } from "../../agent/sources/kubernetes/queries.ts";
import { SERVICE_CIDRS } from "../../agent/sources/kubernetes/service-cidrs.ts";
import * as keys from "../../api/keys.ts";
import type { ApiRequest, ApiServer } from "../../common/kubernetes/api-server.ts";
import {
  CLUSTER_PROPERTIES,
  ENDPOINT_SLICES,
  IP_ADDRESSES,
  NODES,
  SERVICE_EXPORTS,
  SERVICE_IMPORTS,
} from "../../common/kubernetes/kinds.ts";
import { Recovery } from "../../common/kubernetes/recovery.ts";
import type { ApiResource, ResourceQuery } from "../../common/kubernetes/resource.ts";
import { ApiWriter } from "../../common/kubernetes/writer.ts";
import { LEASES } from "../../common/lease/lease.ts";
import {
  agentPodsQuery,
  CONTROLLERS_QUERY,
  HUB_QUERY,
  LOCAL_QUERIES,
  NODES_QUERY,
  peersQuery,
  registryQueries,
  SERVICE_CIDRS_QUERY,
} from "../../controller/stores/resources.ts";
import { Applier } from "../../controller/sync/applier.ts";
import { EVENTS } from "../../controller/sync/event-recorder.ts";
import { rightsFiles, rightsIn } from "../apiserver/rights.ts";
import { FakeClock } from "../doubles/fake-clock.ts";

// What deploy/rbac grants is what the code asks for: not less, and not more.

const ROOT = join(import.meta.dirname, "../..");
const NAME = { namespace: "shop", name: "web" };
const SEEN = { key: "shop/web", uid: "u", resourceVersion: "1", content: "", status: "" };

/** A right, as `verb group/resource`, with the name that it is limited to behind. */
type Right = string;

const READS = ["list", "watch"];
const VERBS = { POST: ["create"], PUT: ["update"], DELETE: ["delete"] } as const;

/** Rights that the objects of these queries take to be followed. */
function reading(...all: readonly ResourceQuery[]): Right[] {
  return all.flatMap(({ group, resource, fieldSelector }) => {
    const [, name] = fieldSelector?.match(/^metadata\.name=(.+)$/) ?? [];
    return READS.map((verb) => right(verb, group, resource, name));
  });
}

function right(verb: string, group: string, resource: string, name?: string): Right {
  return `${verb} ${group}/${resource}${name === undefined ? "" : ` ${name}`}`;
}

/** Rights that these writes take: each request that is sent, and what follows when it meets a conflict. */
async function writing(act: (writer: ApiWriter) => Promise<unknown>): Promise<Right[]> {
  const rights: Right[] = [];
  const api: ApiServer = {
    address: "memory:",
    recovery: new Recovery(),
    request: async (request) => {
      rights.push(...rightsOf(request));
      return { status: 409, header: () => undefined, body: (async function* () {})() };
    },
    close: async () => {},
  };
  await assert.rejects(act(new ApiWriter({ api, clock: new FakeClock(), fieldManager: "test" })));
  return rights;
}

function rightsOf({ path, write }: ApiRequest): Right[] {
  const [pathname = ""] = path.split("?");
  const parts = pathname.match(
    /^\/api(?:s\/([^/]+))?\/[^/]+(?:\/namespaces\/[^/]+)?\/([^/]+)(?:\/[^/]+(\/status)?)?$/,
  );
  assert.ok(parts, path);
  const [, group = "", resource = "", part = ""] = parts;
  const of = (verb: string) => right(verb, group, resource + part);
  if (write === undefined) return [of("get")];
  if (write.method !== "PATCH") return VERBS[write.method].map(of);
  // Server-side apply makes what is not there, for which the API server asks for the right to create as well.
  const isApply = write.contentType === "application/apply-patch+yaml";
  return isApply && part === "" ? [of("patch"), of("create")] : [of("patch")];
}

function applier(resource: ApiResource, writer: ApiWriter): Applier {
  return new Applier({
    ...{ resource, writer, store: { beginWrite: () => () => undefined } },
    ...{ informer: () => undefined, clock: new FakeClock(), takesOver: true },
  });
}

/** Rights by which objects of a kind are kept as they should be. */
async function keeping(resource: ApiResource): Promise<Right[]> {
  const manifest = { apiVersion: "v1", kind: resource.kind, metadata: NAME };
  return [
    ...(await writing((writer) => applier(resource, writer).apply(manifest, undefined))),
    ...(await writing((writer) => applier(resource, writer).remove(SEEN))),
  ];
}

/** Rights by which the status of objects of a kind is written. */
function telling(resource: ApiResource): Promise<Right[]> {
  const manifest = { apiVersion: "v1", kind: resource.kind, metadata: NAME, status: { a: 1 } };
  return writing((writer) => applier(resource, writer).applyStatus(manifest, SEEN));
}

/** A role (`Kind name`, or `Kind namespace/name`) grants these rights and no others, each once. */
function grants(file: string, role: string, needed: readonly Right[]): void {
  const found = rightsIn([file]).find(({ kind, metadata: { name, namespace } }) => {
    return role === `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
  });
  const rights: Right[] = [];
  for (const { apiGroups, resources, resourceNames = [undefined], verbs } of found?.rules ?? [])
    for (const group of apiGroups)
      for (const resource of resources)
        for (const only of resourceNames)
          rights.push(...verbs.map((verb) => right(verb, group, resource, only)));
  assert.ok(rights.length > 0, "there is such a role");
  assert.deepEqual(rights.sort(), [...new Set(needed)].sort());
}

const OF_REGISTRY = Object.values(registryQueries("registry"));
const LEASE = { metadata: NAME };

test("the agent's rights are those that it uses, and no others", () => {
  // A rule that names a node would have to be another one for each.
  const asked = Object.values(queries("n1")).map(({ group, versions, resource }) => {
    return { group, versions, resource };
  });
  // Listed now and then, never watched.
  const { group, resource } = SERVICE_CIDRS;
  const needed = [...reading(...asked), right("list", group, resource)];
  grants("agent.yaml", "ClusterRole clusterset-agent", needed);
});

test("the controller's rights in its own cluster are those that it uses there, and no others", async () =>
  grants("controller.yaml", "ClusterRole clusterset-controller", [
    ...reading(...Object.values(LOCAL_QUERIES), NODES_QUERY, SERVICE_CIDRS_QUERY),
    ...(await writing((writer) => writer.create(EVENTS, { metadata: NAME }))),
    ...(await keeping(SERVICE_IMPORTS)),
    ...(await telling(SERVICE_IMPORTS)),
    ...(await keeping(ENDPOINT_SLICES)),
    ...(await keeping(IP_ADDRESSES)),
    ...(await telling(SERVICE_EXPORTS)),
    ...(await keeping(CLUSTER_PROPERTIES)),
  ]));

test("the controller can use its own Lease for leader election, and no other", async () => {
  const named = [
    ...(await writing((writer) => writer.get(LEASES, NAME))),
    ...(await writing((writer) => writer.replace(LEASES, LEASE))),
  ];
  grants("controller-election.yaml", "Role clusterset-proxy/clusterset-controller", [
    // What does not exist yet has no name in a request.
    ...(await writing((writer) => writer.create(LEASES, LEASE))),
    ...named.map((one) => `${one} clusterset-controller`),
  ]);
});

test("with the startup taint, the controller reads and patches Nodes, and has no other right", async () => {
  const patch = { spec: { taints: [] } };
  grants("startup-taint/nodes.yaml", "ClusterRole clusterset-startup-taint", [
    ...(await writing((writer) => writer.get(NODES, { name: "n1" }))),
    ...(await writing((writer) => writer.patch(NODES, { name: "n1" }, patch, SEEN))),
  ]);
});

test("the rights of a publisher in a registry are those that it needs, and no others", async () =>
  grants("registry-publisher.yaml", "ClusterRole clusterset-registry-publisher", [
    ...reading(...OF_REGISTRY),
    ...(await keeping(SERVICE_IMPORTS)),
    ...(await keeping(ENDPOINT_SLICES)),
    ...(await writing((writer) => writer.apply(LEASES, LEASE))),
    ...(await writing((writer) => writer.get(LEASES, NAME))),
  ]));

const READERS: Readonly<Record<string, readonly [role: string, ...ResourceQuery[]]>> = {
  // The Lease of kube-controller-manager.
  "controller-outage.yaml": ["Role kube-system/clusterset-controller", CONTROLLERS_QUERY],
  "registry-reader.yaml": ["ClusterRole clusterset-registry-reader", ...OF_REGISTRY],
  "startup-taint/agents.yaml": [
    "Role clusterset-proxy/clusterset-startup-taint",
    agentPodsQuery("clusterset-proxy"),
  ],
  // How members are discovered: Secrets of one namespace, namespaces of the hub.
  "mesh/peers.yaml": [
    "Role clusterset-proxy/clusterset-controller-peers",
    peersQuery("clusterset-proxy"),
  ],
  "hub/hub.yaml": ["ClusterRole clusterset-hub-member", HUB_QUERY],
};
for (const [file, [role, ...queried]] of Object.entries(READERS))
  test(`${file}: the ${role} reads what the code reads with it, and has no other right`, () =>
    grants(file, role, reading(...queried)));

test("each role has its own file, and each of its verbs has a comment with its reason", () => {
  for (const file of rightsFiles()) {
    const roles = rightsIn([file]).filter(({ rules }) => rules !== undefined);
    assert.ok(roles.length <= 1, file);
    const lines = readFileSync(`${ROOT}/deploy/rbac/${file}`, "utf8").split("\n");
    const reasons = lines.filter((line) => /^ {6}- \w+ # \S/.test(line));
    const verbs = roles.flatMap(({ rules = [] }) => rules.flatMap((rule) => rule.verbs));
    assert.equal(reasons.length, verbs.length, file);
  }
});

test("rights for one cluster name it everywhere, without a placeholder left", () => {
  for (const file of ["mesh/registry.yaml", "mesh/reader.yaml", "hub/cluster.yaml"]) {
    // An id that YAML would take for a number.
    const objects = rightsIn([file], { cluster: "7", peer: "8" });
    assert.doesNotMatch(JSON.stringify(objects), /_ID/);
    for (const { metadata } of objects) assert.equal(typeof metadata.name, "string", file);
  }
});

test("documents name existing labels and annotations of rights", () => {
  const guide = readFileSync(`${ROOT}/docs/guides/mesh-or-hub.md`, "utf8");
  const named = [...guide.matchAll(/clusterset-proxy\.io\/[a-z-]+/g)].map(([key]) => key);
  assert.ok(named.includes(keys.LABEL_PEER) && named.includes(keys.ANNOTATION_COMPLETE));
  assert.deepEqual(new Set(named).difference(new Set<unknown>(Object.values(keys))), new Set());
  const [, role = ""] = readFileSync(`${ROOT}/deploy/rbac/agent.yaml`, "utf8").split("---\n");
  const page = readFileSync(`${ROOT}/agent/sources/kubernetes/README.md`, "utf8");
  assert.ok(role.includes("kind: ClusterRole\n") && page.includes(role));
});

/** Resources that the Roles of files are about. */
function resourcesOf(files: readonly string[]): Set<string> {
  const rules = rightsIn(files).flatMap((object) => object.rules ?? []);
  const resources = rules.flatMap((rule) => rule.resources);
  return new Set(resources.map((resource) => resource.replace(/\/.*/, "")));
}

test("the guide's RBAC table names every kind that a file grants anything on, and no other", () => {
  const files = rightsFiles().filter((file) => resourcesOf([file]).size > 0);
  const all = resourcesOf(files);
  const guide = readFileSync(`${ROOT}/docs/guides/mesh-or-hub.md`, "utf8");
  const [, section = ""] = guide.split("## RBAC\n");
  const said = new Map<string, Set<string>>();
  for (const row of section.split("\n").filter((line) => line.includes(".yaml` |"))) {
    const [, , may = "", where = ""] = row.split("|");
    const named = [...where.replace("hub/*", "hub/hub").matchAll(/`([\w/-]+\.yaml)`/g)];
    const words = may.match(/\b[A-Z]\w+/g) ?? [];
    // `its own Lease` is about leases, too.
    const kinds = words.map((word) => word.toLowerCase().replace(/s?$/, "s"));
    const granted = resourcesOf(named.map(([, file = ""]) => file));
    for (const kind of kinds.filter((one) => all.has(one))) assert.ok(granted.has(kind), row);
    for (const [, file = ""] of named) {
      said.set(file, new Set([...(said.get(file) ?? []), ...kinds]));
    }
  }
  for (const file of files) {
    for (const kind of resourcesOf([file])) {
      assert.ok(said.get(file)?.has(kind), `${file} grants something on ${kind}`);
    }
  }
});
