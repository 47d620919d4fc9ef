import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { LABEL_SERVICE_NAME } from "../../api/keys.ts";
import { at, type Fields } from "../doubles/memory/fields.ts";
import { ControllerWorld } from "../stages/controller-world.ts";
import { output } from "./rendered.ts";

// An HTTPRoute of Gateway API whose backend is a ServiceImport, as Envoy Gateway's own translator reads it: docs/MCS-API.md says which
// of the two ways of routing applies tiers. Objects are those that our controllers write.

const KEY = "shop/web";
const GATEWAY_API = "gateway.networking.k8s.io/v1";
const ENVOY_GATEWAY = "gateway.envoyproxy.io/v1alpha1";
const CONTROLLER = "gateway.envoyproxy.io/gatewayclass-controller";
const LISTENER = { name: "http", protocol: "HTTP", port: 80 };
const BACKEND = { group: "multicluster.x-k8s.io", kind: "ServiceImport", name: "web", port: 80 };

describe("Envoy Gateway, with an HTTPRoute to a ServiceImport", () => {
  let program: string;
  let imported: Fields;
  let slices: readonly Fields[];

  /** Three clusters with one endpoint each; the first imports, and the third one is stale. */
  before(async () => {
    program = execFileSync(join(import.meta.dirname, "../kubernetes/envoy-gateway/build"), {
      encoding: "utf8",
    }).trim();
    const { world, c1, c3 } = ControllerWorld.of(["c1", "c2", "c3"]);
    for (const [i, cluster] of world.clusters.entries()) {
      cluster.serve(KEY, [`10.${i + 1}.0.7`]);
      cluster.export(KEY);
    }
    world.start();
    await world.pass(20_000);
    c3.server.down = true;
    c3.server.cut();
    await world.pass(60_000);
    imported = c1.server.objects.get("serviceimports", KEY) ?? assert.fail("no import");
    slices = c1.server.objects
      .list("endpointslices")
      .filter((slice) => at(slice, ["metadata", "labels", LABEL_SERVICE_NAME]) === "web");
    await world.stop();
  });

  test("by default, it sends to the endpoints of all clusters, of a stale one, too: no tiers", () => {
    const stale = slices.find((slice) => JSON.stringify(slice).includes("10.3.0.7"));
    const [endpoint] = at(stale, ["endpoints"]) as readonly Fields[];
    const serving = { ready: false, serving: true, terminating: false };
    assert.deepEqual(at(endpoint, ["conditions"]), serving);
    assert.deepEqual(destinations(), ["10.1.0.7:80", "10.2.0.7:80", "10.3.0.7:80"]);
  });

  test("with routingType Service, it sends to the import's VIP, where the node's tiers apply", () => {
    const policy = {
      apiVersion: ENVOY_GATEWAY,
      kind: "BackendTrafficPolicy",
      metadata: { name: "nearest", namespace: "shop" },
      spec: {
        targetRefs: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", name: "web" }],
        routingType: "Service",
      },
    };
    const ips = at(imported, ["spec", "ips"]);
    assert.ok(Array.isArray(ips) && ips.length === 1);
    assert.deepEqual(destinations(policy), [`${ips[0]}:80`]);
  });

  /** Address and port of each endpoint that Envoy would have for the route. */
  function destinations(...backendTrafficPolicies: readonly object[]): string[] {
    const asked = {
      gatewayClass: {
        apiVersion: GATEWAY_API,
        kind: "GatewayClass",
        metadata: { name: "envoy" },
        spec: { controllerName: CONTROLLER },
      },
      namespaces: [{ metadata: { name: "shop" } }],
      gateways: [gatewayObject("Gateway", { gatewayClassName: "envoy", listeners: [LISTENER] })],
      httpRoutes: [
        gatewayObject("HTTPRoute", {
          parentRefs: [{ name: "web" }],
          rules: [{ backendRefs: [BACKEND] }],
        }),
      ],
      // The translator requires the certificate with which Envoy would connect to it.
      secrets: [{ metadata: { name: "envoy" } }],
      serviceImports: [imported],
      endpointSlices: slices,
      backendTrafficPolicies,
    };
    const translated = output(program, [], JSON.stringify(asked));
    return endpointsIn(JSON.parse(translated)).sort();
  }
});

/** An object of Gateway API, `shop/web`. */
function gatewayObject(kind: string, spec: object): object {
  return { apiVersion: GATEWAY_API, kind, metadata: { name: "web", namespace: "shop" }, spec };
}

interface Translated {
  readonly xdsIR: Readonly<Record<string, { readonly http: readonly Listener[] }>>;
}

interface Listener {
  readonly routes?: readonly { readonly destination: { readonly settings: readonly Setting[] } }[];
}

interface Setting {
  readonly endpoints?: readonly { readonly host: string; readonly port: number }[];
}

function endpointsIn({ xdsIR }: Translated): string[] {
  const listeners = Object.values(xdsIR).flatMap(({ http }) => http);
  const settings = listeners
    .flatMap(({ routes = [] }) => routes)
    .flatMap(({ destination }) => destination.settings);
  return settings.flatMap(({ endpoints = [] }) =>
    endpoints.map(({ host, port }) => `${host}:${port}`),
  );
}
