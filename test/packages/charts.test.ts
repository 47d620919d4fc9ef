import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { Kustomization } from "../e2e/kustomization.ts";
import { comparable, labelled } from "./comparable.ts";
import { helmTemplate, kustomize, type Manifest, type Values } from "./rendered.ts";

// The chart clusterset-proxy and the manifests of deploy/ are the same objects, one by one: rendered by Helm and by kubectl.

const DEPLOY = join(import.meta.dirname, "../../deploy");

const EXCEPT_FARGATE = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        {
          matchExpressions: [
            { key: "eks.amazonaws.com/compute-type", operator: "NotIn", values: ["fargate"] },
          ],
        },
      ],
    },
  },
};

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
};

/** Components of which the chart has nothing, and why. */
const WITHOUT_VALUES: Readonly<Record<string, string>> = {
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

for (const [overlay, values] of [
  ["mesh", {}],
  ["hub", { registry: { mode: "hub" } }],
  ["agents", { controller: { enabled: false } }],
] as const) {
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

test("several components are all their values together", () => {
  const all = ["dual-stack", "ipvs", "metrics", "net-raw", "preflight"];
  const values = all.map((component) => COMPONENTS[component] ?? {});
  const agent = Object.assign({}, ...values.map(({ agent = {} }) => agent));
  assertSame(
    helmTemplate("clusterset-proxy", Object.assign({}, ...values, { agent })),
    fromKustomize("mesh", all),
  );
});

test("with coredns.rbac, the chart has deploy/coredns", () => {
  const values = { coredns: { rbac: true } };
  assertSame(helmTemplate("clusterset-proxy", values), [
    ...fromKustomize("mesh"),
    ...kustomize(join(DEPLOY, "coredns")),
  ]);
});
