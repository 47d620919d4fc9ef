import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { kubernetesCommand } from "../apiserver/commands.ts";
import { Kustomization } from "../e2e/kustomization.ts";
import {
  CHARTS,
  comparable,
  helmTemplate,
  kustomize,
  labelled,
  type Manifest,
  objectsOf,
  output,
  rejection,
  type Values,
} from "./rendered.ts";

// The chart clusterset-proxy and the manifests of deploy/ are the same objects, one by one: rendered by Helm and by kubectl.

const DEPLOY = join(import.meta.dirname, "../../deploy");

const COMPUTE_TYPE = "eks.amazonaws.com/compute-type";
const NOT_FARGATE = [{ key: COMPUTE_TYPE, operator: "NotIn", values: ["fargate"] }];
const TERMS = { nodeSelectorTerms: [{ matchExpressions: NOT_FARGATE }] };
const EXCEPT_FARGATE = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: TERMS } };

/** The values that do what a component of deploy/ does. */
const COMPONENTS: Readonly<Record<string, Values>> = {
  admission: { admissionPolicies: true },
  "dual-stack": { clustersetCIDRs: ["241.0.0.0/8", "fdc5:e750:1::/112"] },
  eks: { agent: { affinity: EXCEPT_FARGATE } },
  ipvs: { agent: { backends: ["ipvs", "iptables"] } },
  k3s: { agent: { netRaw: true } },
  metrics: { agent: { pagesOnNodeAddress: true } },
  monitoring: { monitoring: { kind: "operator" } },
  "net-raw": { agent: { netRaw: true } },
  nftables: { agent: { backends: ["nftables", "iptables"] } },
  openshift: { openshift: true },
  preflight: { agent: { preflight: true } },
  privileged: { agent: { privileged: true } },
  rke2: { agent: { netRaw: true } },
  scrape: { monitoring: { kind: "annotations" } },
  "startup-taint": { startupTaint: "restarted-nodes" },
};

/** Components of which the chart has nothing, and why. */
const WITHOUT_VALUES: Readonly<Record<string, string>> = {
  "before-1.27": "is what Helm knows of the API server",
  "cleanup-privileged": "is for deploy/cleanup, which is applied after the chart is uninstalled",
};

/** Objects of an overlay with components, without the namespace, which Helm creates or finds. */
function fromKustomize(overlay: string, components: readonly string[] = []): Manifest[] {
  using folder = new Kustomization(overlay, components, false);
  return kustomize(folder.folder).filter(
    ({ kind, metadata: { name } }) => kind !== "Namespace" || name !== "clusterset-proxy",
  );
}

function assertSame(chart: readonly Manifest[], manifests: readonly Manifest[]): void {
  assert.deepEqual(
    Object.fromEntries(comparable(chart)),
    Object.fromEntries(comparable(manifests.map(labelled))),
  );
}

for (const [overlay, values] of Object.entries({
  mesh: {},
  hub: { registry: { mode: "hub" } },
  agents: { controller: { enabled: false } },
})) {
  test(`with the values ${JSON.stringify(values)}, the chart is the overlay ${overlay}`, () => {
    assertSame(helmTemplate("clusterset-proxy", values), fromKustomize(overlay));
  });
}

test("every component has values, or a reason why it has none", () => {
  const all = globSync("components/*", { cwd: DEPLOY }).map((path) => basename(path));
  assert.deepEqual(all.sort(), Object.keys({ ...COMPONENTS, ...WITHOUT_VALUES }).sort());
});

for (const [component, values] of Object.entries(COMPONENTS)) {
  test(`component ${component} is the values ${JSON.stringify(values)}`, () => {
    assertSame(helmTemplate("clusterset-proxy", values), fromKustomize("mesh", [component]));
  });
}

test("for an API server of Kubernetes 1.26, the chart is the component before-1.27", () => {
  const chart = helmTemplate("clusterset-proxy", {}, "clusterset-proxy", "1.26.0");
  assertSame(chart, fromKustomize("mesh", ["before-1.27"]));
});

test("several components are all their values together", () => {
  const all = ["dual-stack", "ipvs", "metrics", "net-raw", "preflight"];
  const values = all.map((component) => COMPONENTS[component] ?? {});
  const agent = Object.assign({}, ...values.map(({ agent = {} }) => agent));
  assertSame(
    helmTemplate("clusterset-proxy", Object.assign({}, ...values, { agent })),
    fromKustomize("mesh", all),
  );
});

test("without a value for startup taints, as in an upgrade that reuses those of 0.2.0, the chart has nothing of them", () => {
  assertSame(helmTemplate("clusterset-proxy", { startupTaint: null }), fromKustomize("mesh"));
});

for (const [value, folder] of Object.entries({ rbac: "coredns", own: "coredns/own" })) {
  test(`with coredns.${value}, the chart has deploy/${folder}`, () => {
    const chart = helmTemplate("clusterset-proxy", { coredns: { [value]: true } });
    assertSame(chart, [...fromKustomize("mesh"), ...kustomize(join(DEPLOY, folder))]);
  });
}

test("the CoreDNS of coredns.own has the image of the values", () => {
  const image = "registry.example.com/coredns:1.15.0";
  const objects = helmTemplate("clusterset-proxy", { coredns: { own: true, image } });
  assert.ok(JSON.stringify(objects).includes(`"image":"${image}"`));
});

// What the charts accept as values, and what they make of those that no component of deploy/ has.

const CHART = "clusterset-proxy";

/** Values that Helm rejects, and what it names: the place, and what is wrong with it. */
const REJECTED: readonly (readonly [Values, RegExp])[] = [
  [{ agnet: {} }, /'agnet' not allowed/],
  [{ agent: { image: { name: "x" } } }, /at '\/agent\/image': .*'name' not allowed/],
  [{ agent: { flags: { "no-such-flag": "1" } } }, /at '\/agent\/flags': .*'no-such-flag'/],
  // What another value or the template sets has no second way.
  [{ agent: { flags: { "lock-file": "/x" } } }, /at '\/agent\/flags': .*'lock-file'/],
  [{ controller: { flags: { "clusterset-cidr": "10.0.0.0/8" } } }, /'clusterset-cidr'/],
  [{ agent: { flags: { health: true } } }, /at '\/agent\/flags\/health': got boolean/],
  [{ agent: { backends: ["ebpf"] } }, /at '\/agent\/backends\/0': value must be one of 'iptables'/],
  [{ agent: { backends: "ipvs" } }, /at '\/agent\/backends': got string, want array/],
  [{ agent: { netRaw: "yes" } }, /at '\/agent\/netRaw': got string, want boolean/],
  [{ agent: { image: { digest: "sha256:12" } } }, /at '\/agent\/image\/digest'/],
  [{ agent: { maxUnavailable: "ten" } }, /at '\/agent\/maxUnavailable'/],
  [{ registry: { mode: "star" } }, /at '\/registry\/mode': value must be one of 'mesh', 'hub'/],
  [{ identity: { cluster: "Cluster_1" } }, /at '\/identity\/cluster'/],
  [{ clustersetCIDRs: ["241.0.0.0"] }, /at '\/clustersetCIDRs\/0': .*does not match pattern/],
  [{ explicitVIPCIDRs: "10.0.0.0/24" }, /at '\/explicitVIPCIDRs': got string, want array/],
  [{ registry: { create: true } }, /registry\.create needs identity\.cluster/],
];

for (const [values, said] of REJECTED) {
  test(`rejected: ${JSON.stringify(values)}`, () => {
    assert.match(rejection(CHART, values), said);
  });
}

test("rejected: an unknown value of the chart of the CRDs", () => {
  assert.match(rejection("clusterset-crds", { keep: false }), /'keep' not allowed/);
});

test("helm lint finds nothing in either chart", () => {
  for (const chart of [CHART, "clusterset-crds"]) {
    const said = output(kubernetesCommand("helm"), ["lint", "--strict", `${CHARTS}/${chart}`]);
    assert.match(said, /1 chart\(s\) linted, 0 chart\(s\) failed/);
    assert.doesNotMatch(said, /\[(WARNING|ERROR)\]/);
  }
});

test("flags become environment variables, large numbers without an exponent", () => {
  const flags = { "max-rules": 2_000_000, "cluster-regions": "c2=eu,c3=us", "log-level": "" };
  const [container] = containersOf(helmTemplate(CHART, { agent: { flags } }), "DaemonSet");
  assert.deepEqual(variablesOf(container), {
    CLUSTERSET_AGENT_CLUSTER_REGIONS: "c2=eu,c3=us",
    CLUSTERSET_AGENT_LOCK_FILE: "/run/clusterset-proxy/agent.lock",
    CLUSTERSET_AGENT_MAX_RULES: "2000000",
  });
});

test("ranges are set for agent and controller, which must have the same", () => {
  const values = {
    clustersetCIDRs: ["242.0.0.0/16", "fd00:1::/112"],
    explicitVIPCIDRs: ["192.0.2.0/24"],
    ipv6Only: true,
  };
  const objects = helmTemplate(CHART, values);
  for (const [kind, name] of Object.entries({ DaemonSet: "AGENT", Deployment: "CONTROLLER" })) {
    const variables = variablesOf(containersOf(objects, kind)[0]);
    assert.equal(variables[`CLUSTERSET_${name}_CLUSTERSET_CIDR`], "242.0.0.0/16,fd00:1::/112");
    assert.equal(variables[`CLUSTERSET_${name}_EXPLICIT_VIP_CIDRS`], "192.0.2.0/24");
  }
  const controller = variablesOf(containersOf(objects, "Deployment")[0]);
  assert.equal(controller.CLUSTERSET_CONTROLLER_HTTP_ADDRESS, "[::]:10270");
});

test("an image is named by its digest, else by its tag, else by the version of the chart", () => {
  const digest = `sha256:${"ab".repeat(32)}`;
  const images = { repository: "registry.example.com:5000/agent", tag: "v9" };
  const imageOf = (image: Values) =>
    containersOf(helmTemplate(CHART, { agent: { image } }), "DaemonSet")[0]?.image;
  assert.equal(imageOf({ ...images, digest }), `registry.example.com:5000/agent@${digest}`);
  assert.equal(imageOf(images), "registry.example.com:5000/agent:v9");
  assert.match(imageOf({ repository: "a" }) ?? "", /^a:\d+\.\d+\.\d+$/);
});

test("scheduling, resources and metadata of pods are those of the values", () => {
  const pod = {
    resources: { limits: { memory: "2Gi" } },
    nodeSelector: { pool: "general" },
    tolerations: [{ key: "dedicated", operator: "Exists" }],
    priorityClassName: "high",
    podLabels: { team: "network" },
    podAnnotations: { "example.com/scrape": "true" },
  };
  const imagePullSecrets = [{ name: "registry" }];
  const objects = helmTemplate(CHART, { imagePullSecrets, agent: pod, controller: pod });
  for (const kind of ["DaemonSet", "Deployment"]) {
    const { metadata, spec } = podOf(objects, kind);
    assert.equal(metadata.labels.team, "network");
    assert.equal(metadata.annotations["example.com/scrape"], "true");
    assert.deepEqual(spec.imagePullSecrets, imagePullSecrets);
    assert.deepEqual(spec.tolerations, pod.tolerations);
    assert.deepEqual(spec.nodeSelector, { "kubernetes.io/os": "linux", pool: "general" });
    assert.equal(spec.priorityClassName, "high");
    assert.equal(spec.containers[0]?.resources.limits?.memory, "2Gi");
  }
});

test("PodMonitors and alerts have the labels by which a Prometheus selects them", () => {
  const monitoring = { kind: "operator", labels: { release: "prometheus" } };
  const selected = helmTemplate(CHART, { monitoring }).filter(
    ({ metadata }) => metadata.labels?.release === "prometheus",
  );
  assert.equal(selected.map(({ kind }) => kind).join(), "PodMonitor,PodMonitor,PrometheusRule");
});

test("the identity of a cluster is its ClusterProperties, without those that are empty", () => {
  const identity = { cluster: "cluster-1", region: "eu-west" };
  const properties = helmTemplate(CHART, { identity }).filter(
    ({ kind }) => kind === "ClusterProperty",
  );
  const values = properties.map(({ metadata, spec }) => {
    return [metadata.name, (spec as { value: string }).value];
  });
  assert.deepEqual(Object.fromEntries(values), {
    "cluster.clusterset.k8s.io": "cluster-1",
    "region.topology.k8s.io": "eu-west",
  });
});

test("with registry.create, the registry and a token for each reader are those of deploy/rbac/mesh", () => {
  const values = {
    identity: { cluster: "cluster-1" },
    registry: { create: true, readers: ["cluster-2", "cluster-3"] },
  };
  const before = new Set(helmTemplate(CHART).map(nameOf));
  const added = helmTemplate(CHART, values).filter((object) => !before.has(nameOf(object)));
  const manifest = (file: string, peer = "") =>
    deployed(`rbac/mesh/${file}.yaml`, (text) =>
      text.replaceAll("CLUSTER_ID", "cluster-1").replaceAll("PEER_ID", peer),
    );
  const tokens = values.registry.readers.flatMap((peer) => manifest("reader", peer));
  assertSame(
    added.filter(({ kind }) => kind !== "ClusterProperty"),
    [...manifest("registry"), ...tokens],
  );
});

test("in another namespace, no object is in clusterset-proxy, and no binding names it", () => {
  const text = JSON.stringify(helmTemplate(CHART, { admissionPolicies: true }, "network"));
  assert.doesNotMatch(text, /"namespace":"clusterset-proxy"/);
  assert.match(text, /"namespace":"network"/);
});

test("the CRDs are those of deploy/crds, and Helm keeps them when it uninstalls", () => {
  const files = ["clusterproperties", "serviceexports", "serviceimports"];
  const kept = files
    .flatMap((file) => deployed(`crds/${file}.yaml`))
    .map((crd) => {
      const annotations = { ...crd.metadata.annotations, "helm.sh/resource-policy": "keep" };
      return { ...crd, metadata: { ...crd.metadata, annotations } };
    });
  assert.deepEqual(comparable(helmTemplate("clusterset-crds")), comparable(kept));
});

/** The objects of a file of deploy/. */
function deployed(file: string, adapt = (text: string) => text): Manifest[] {
  return objectsOf(adapt(readFileSync(join(CHARTS, "..", file), "utf8")));
}

interface Container {
  readonly image: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly resources: { readonly limits?: { readonly memory?: string } };
}

interface Pod {
  readonly metadata: Required<Pick<Manifest["metadata"], "labels" | "annotations">>;
  readonly spec: Readonly<Record<string, unknown>> & { readonly containers: readonly Container[] };
}

function podOf(objects: readonly Manifest[], kind: string): Pod {
  const owner = objects.find((object) => object.kind === kind);
  assert.ok(owner);
  return (owner.spec as { template: Pod }).template;
}

function containersOf(objects: readonly Manifest[], kind: string): readonly Container[] {
  return podOf(objects, kind).spec.containers;
}

/** Variables with a value, in the order of their names. */
function variablesOf(container: Container | undefined): Record<string, string> {
  const given = (container?.env ?? []).flatMap(({ name, value }) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return Object.fromEntries(given.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function nameOf({ kind, metadata: { namespace, name } }: Manifest): string {
  return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}
