import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterIpLines, explainedClusterIp } from "./cluster-ip.ts";
import type { ClusterIpReading } from "./readings.ts";

const KEY = "shop/web";
const ASK = "clusterset-proxy.io/cluster-ip-failover";
const LEAVING = { ready: false, serving: true, terminating: true };
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const ADMIN = { name: "admin", port: 81, protocol: "TCP" };
/** The conditions of endpoints, by address. */
type Endpoints = Readonly<Record<string, object>>;

function service(annotation?: string, spec: object = {}) {
  const annotations = annotation === undefined ? {} : { [ASK]: annotation };
  return {
    metadata: { namespace: "shop", name: "web", annotations },
    spec: { clusterIPs: ["10.96.0.7"], ipFamilies: ["IPv4"], ports: [HTTP], ...spec },
  };
}

function namespace(annotation: string) {
  return { metadata: { name: "shop", uid: "1", annotations: { [ASK]: annotation } } };
}

/** A slice of the Service; `cluster`: a failover slice of this one. */
function slice(name: string, endpoints: Endpoints, cluster?: string, ports = [HTTP]) {
  const failover = cluster && {
    "endpointslice.kubernetes.io/managed-by": "cluster-ip-failover.clusterset-proxy.io",
    "multicluster.kubernetes.io/source-cluster": cluster,
  };
  return {
    metadata: {
      ...{ namespace: "shop", name },
      labels: { "kubernetes.io/service-name": "web", ...failover },
    },
    ...{ addressType: "IPv4", ports },
    endpoints: Object.entries(endpoints).map(([address, conditions]) => ({
      ...{ addresses: [address], conditions },
    })),
  };
}

function debug(because: string, clusters: readonly string[]) {
  return { leader: true, failover: [{ service: KEY, because, clusters }] };
}

function explain(reading: Partial<ClusterIpReading>, imported?: Endpoints) {
  const slices = imported && [
    {
      cluster: "c2",
      endpoints: Object.keys(imported).map((address) => ({
        address,
        condition: imported[address] === LEAVING ? "terminating" : "ready",
      })),
    },
  ];
  const found = explainedClusterIp(KEY, { slices: [], unread: [], ...reading }, slices);
  return { ...found, text: clusterIpLines(found).map((line) => line.join(": ")) };
}

const LOCAL = slice("web-1", { "10.1.0.7": {}, "10.1.0.8": {}, "10.1.0.9": { ready: false } });
const PREPARED = slice("web.c2.1", { "10.2.0.7": LEAVING, "10.2.0.8": LEAVING }, "c2");

test("a Service that does not ask: what its ClusterIP uses, and nothing to worry about", () => {
  const { severity, text } = explain({ service: service(), slices: [LOCAL] });
  assert.deepEqual(text, [
    "ClusterIP: 10.96.0.7, uses 2 local endpoints",
    "Failover: not requested",
  ]);
  assert.equal(severity, "well");
  assert.deepEqual(explain({}).text, []);
});

test("a prepared one: by whom it is requested, and endpoints by cluster and family with their readiness in the imported slices", () => {
  const page = debug("failover-prepared", ["c2"]);
  const reading = { service: service("true"), slices: [LOCAL, PREPARED], page };
  const { severity, text } = explain(reading, { "10.2.0.7": {}, "10.2.0.8": {} });
  assert.deepEqual(text, [
    "ClusterIP: 10.96.0.7, uses 2 local endpoints",
    "Failover: requested by the Service; prepared (failover-prepared): 2 ready IPv4 endpoints of c2",
  ]);
  assert.equal(severity, "well");
  const mixed = explain(reading, { "10.2.0.7": {}, "10.2.0.8": LEAVING });
  assert.match(mixed.text[1] ?? "", /: 2 \(1 ready\) IPv4 endpoints of c2$/);
  const stale = explain(reading, { "10.2.0.7": LEAVING });
  assert.match(stale.text[1] ?? "", /: 2 last-resort IPv4 endpoints of c2$/);
  assert.match(explain(reading).text[1] ?? "", /: 2 IPv4 endpoints of c2$/, "without an import");
});

test("without a ready local endpoint, the ClusterIP uses other clusters, beside local ones that terminate", () => {
  const away = (local: Endpoints, remote = PREPARED) =>
    explain({
      namespace: namespace("true"),
      page: debug("failover-prepared", ["c2"]),
      service: service(),
      slices: [slice("web-1", local), remote],
    });
  const gone = away({ "10.1.0.7": { ready: false } });
  assert.equal(gone.text[0], "ClusterIP: 10.96.0.7, uses 2 endpoints of c2");
  assert.deepEqual([gone.decidedBy, gone.severity], ["Namespace", "warning"]);
  const both = away({ "10.1.0.7": LEAVING }).text[0];
  assert.match(both ?? "", /uses 1 local terminating endpoint, 2 endpoints of c2$/);
  const ready = slice("web.c2.1", { "10.2.0.7": { ready: true } }, "c2");
  const first = away({ "10.1.0.7": LEAVING }, ready);
  assert.match(first.text[0] ?? "", /uses 1 endpoint of c2$/, "slices that list it as ready");
  assert.deepEqual(first.prepared, [{ cluster: "c2", family: "IPv4", endpoints: 1 }]);
});

test("each port has its own text if they do not use the same endpoints", () => {
  const { severity, text } = explain({
    service: service("true", { ports: [HTTP, ADMIN] }),
    slices: [slice("web-1", {}, undefined, [HTTP, ADMIN]), PREPARED],
    page: debug("failover-prepared", ["c2"]),
  });
  const uses =
    "2 endpoints of c2 for http TCP IPv4; no endpoint (connections are rejected) for admin TCP IPv4";
  assert.equal(text[0], `ClusterIP: 10.96.0.7, uses ${uses}`);
  assert.equal(severity, "fault");
});

test("what is not prepared, or in part only, has the controller's reason and its meaning", () => {
  const asking = { service: service("true"), slices: [LOCAL] };
  const none = explain({ ...asking, page: debug("no-remote-endpoint", []) });
  assert.match(
    none.text[1] ?? "",
    /^Failover: requested by the Service; not prepared \(no-remote-endpoint\): No other cluster/,
  );
  assert.equal(none.severity, "warning");
  const page = debug("slice-refused", ["c2"]);
  const part = explain({ ...asking, slices: [LOCAL, PREPARED], page });
  assert.match(part.text[1] ?? "", /prepared \(slice-refused\): 2 IPv4 .*; The API server refuses/);
  assert.equal(part.severity, "warning");
});

test("a Service declines; an invalid value counts as none, and is named with object and field", () => {
  const declined = explain({ service: service("false"), namespace: namespace("true") });
  assert.equal(declined.text[1], "Failover: declined by the Service");
  const invalid = explain({ service: service("yes"), slices: [LOCAL] });
  assert.deepEqual([invalid.failover, invalid.severity], ["not-requested", "warning"]);
  assert.equal(
    invalid.text[1],
    `Failover: not requested; Service shop/web: metadata.annotations[${ASK}]: invalid-policy: "yes"`,
  );
});

test("what could not be read is named: without the controller, the slices say what is prepared", () => {
  const unread = [
    { what: "the controller's result", reason: "unreachable", detail: "refused" } as const,
  ];
  const silent = explain({ service: service("true"), slices: [LOCAL, PREPARED], unread });
  assert.equal(
    silent.text[1],
    "Failover: requested by the Service; prepared: 2 IPv4 endpoints of c2; the controller's result not known: unreachable, refused",
  );
  assert.equal(silent.severity, "warning");
  const forbidden = { what: "Namespace", reason: "forbidden", detail: "no" } as const;
  const hidden = explain({ service: service(), slices: [LOCAL], unread: [forbidden] });
  assert.equal(hidden.failover, "unknown");
  const page = debug("failover-prepared", ["c2"]);
  const listed = explain({
    service: service(),
    slices: [LOCAL, PREPARED],
    unread: [forbidden],
    page,
  });
  assert.equal(listed.failover, "requested", "the controller lists it");
  const slices = { what: "EndpointSlices", reason: "forbidden", detail: "no" } as const;
  const unlisted = explain({ service: service("true"), unread: [slices], page });
  assert.equal(
    unlisted.text[1],
    "Failover: requested by the Service; not known whether it is prepared (failover-prepared); EndpointSlices not known: forbidden, no",
  );
  const nothing = { what: "Service", reason: "forbidden", detail: "no" } as const;
  assert.deepEqual(explain({ unread: [nothing] }).text, [
    "ClusterIP: Service not known: forbidden, no",
  ]);
});

test("a headless Service has no ClusterIP that could fail over", () => {
  const headless = service("true", { clusterIPs: ["None"], clusterIP: "None" });
  const { text } = explain({ service: headless, page: debug("service-headless", []) });
  assert.deepEqual(text, [
    "ClusterIP: none: the Service is headless, or of type ExternalName",
    "Failover: requested by the Service; not prepared (service-headless): The Service is headless: it has no ClusterIP that could fail over",
  ]);
});
