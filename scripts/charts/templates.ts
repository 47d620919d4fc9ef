import { AGENT_EDITS } from "./agent-edits.ts";
import { CONTROLLER_EDITS, STARTUP_TAINT } from "./controller-edits.ts";
import { block } from "./pod-edits.ts";
import type { Edit, Template } from "./template.ts";

const PRODUCT = "clusterset-proxy/templates";

const CONTROLLER = ".Values.controller.enabled";
/** API servers before 1.27 reject this field (deploy/components/before-1.27). */
const EVICTION: Edit = {
  replace: "  unhealthyPodEvictionPolicy: AlwaysAllow\n",
  by: `  {{- if semverCompare ">=1.27-0" .Capabilities.KubeVersion.Version }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  {{- end }}
`,
};
const MESH = `and ${CONTROLLER} (eq .Values.registry.mode "mesh")`;
const REGISTRY = `and (${MESH}) .Values.registry.create`;

/** The cluster's own ID. The chart rejects values without it where it is needed. */
const CLUSTER_ID = '{{ include "clusterset-proxy.cluster-id" $ }}';

/** Edits of the CoreDNS for `clusterset.local`, by the manifest's name. */
const OWN_DNS_EDITS: Readonly<Record<string, readonly Edit[]>> = {
  server: [
    {
      replace: "          image: docker.io/coredns/coredns:1.15.0\n",
      by: "          image: {{ .Values.coredns.image | quote }}\n",
    },
    {
      replace: "    spec:\n      serviceAccountName",
      by: `    spec:\n${block(6, "imagePullSecrets", ".Values.imagePullSecrets")}      serviceAccountName`,
    },
  ],
};

/** Every file of a chart that is made of a manifest; the others are written by hand. */
export const TEMPLATES: readonly Template[] = [
  { source: "base/agent.yaml", path: `${PRODUCT}/agent.yaml`, edits: AGENT_EDITS },
  { source: "rbac/agent.yaml", path: `${PRODUCT}/agent-rbac.yaml` },
  {
    source: "base/critical-pods.yaml",
    path: `${PRODUCT}/critical-pods.yaml`,
    when: ".Values.criticalPodsQuota",
  },
  {
    source: "base/controller.yaml",
    path: `${PRODUCT}/controller.yaml`,
    when: CONTROLLER,
    edits: CONTROLLER_EDITS,
  },
  ...["", "-election", "-outage"].map((part) => ({
    source: `rbac/controller${part}.yaml`,
    path: `${PRODUCT}/controller${part}-rbac.yaml`,
    when: CONTROLLER,
  })),
  {
    source: "base/disruption-budget.yaml",
    path: `${PRODUCT}/disruption-budget.yaml`,
    when: CONTROLLER,
    edits: [EVICTION],
  },
  {
    source: "base/network-policy.yaml",
    path: `${PRODUCT}/network-policy.yaml`,
    when: `and ${CONTROLLER} .Values.controller.networkPolicy.enabled`,
    edits: [
      {
        replace: "kubernetes.io/metadata.name: monitoring }",
        by: "kubernetes.io/metadata.name: {{ .Values.controller.networkPolicy.monitoringNamespace | quote }} }",
      },
    ],
  },
  ...["publisher", "reader"].map((role) => ({
    source: `rbac/registry-${role}.yaml`,
    path: `${PRODUCT}/registry-${role}-rbac.yaml`,
    when: CONTROLLER,
  })),
  { source: "rbac/mesh/peers.yaml", path: `${PRODUCT}/peers-rbac.yaml`, when: MESH },
  {
    source: "rbac/mesh/registry.yaml",
    path: `${PRODUCT}/registry.yaml`,
    when: REGISTRY,
    edits: [
      { replace: " CLUSTER_ID is this cluster's ID.", by: "" },
      { replace: "CLUSTER_ID", by: CLUSTER_ID, times: 5 },
    ],
  },
  {
    source: "rbac/mesh/reader.yaml",
    path: `${PRODUCT}/registry-tokens.yaml`,
    when: REGISTRY,
    edits: [
      { replace: "# Mesh:", by: "{{- range .Values.registry.readers }}\n---\n# Mesh:" },
      { replace: "cluster PEER_ID", by: "cluster {{ . }}" },
      { replace: '"PEER_ID"', by: "{{ . | quote }}", times: 3 },
      { replace: "this cluster, CLUSTER_ID", by: "this cluster" },
      { replace: "CLUSTER_ID", by: CLUSTER_ID, times: 2 },
      {
        replace: "type: kubernetes.io/service-account-token\n",
        by: "type: kubernetes.io/service-account-token\n{{- end }}\n",
      },
    ],
  },
  ...["policies", "controller"].map((part) => ({
    source: `components/admission/${part}.yaml`,
    path: `${PRODUCT}/admission-${part}.yaml`,
    when: ".Values.admissionPolicies",
  })),
  {
    source: "components/openshift/constraints.yaml",
    path: `${PRODUCT}/openshift-constraints.yaml`,
    when: ".Values.openshift",
  },
  {
    source: "components/openshift/restricted-slices.yaml",
    path: `${PRODUCT}/openshift-restricted-slices.yaml`,
    when: `and .Values.openshift ${CONTROLLER}`,
  },
  ...["agents", "nodes"].map((part) => ({
    source: `rbac/startup-taint/${part}.yaml`,
    path: `${PRODUCT}/startup-taint-${part}-rbac.yaml`,
    when: `and ${CONTROLLER} (${STARTUP_TAINT})`,
  })),
  ...["pod-monitors", "rules"].map((part) => ({
    source: `components/monitoring/${part}.yaml`,
    path: `${PRODUCT}/monitoring-${part}.yaml`,
    when: 'eq .Values.monitoring.kind "operator"',
    labels: ".Values.monitoring.labels",
  })),
  {
    source: "coredns/rights.yaml",
    path: `${PRODUCT}/coredns-rbac.yaml`,
    when: ".Values.coredns.rbac",
    edits: [
      {
        replace: "{ kind: ServiceAccount, namespace: kube-system, name: coredns }",
        by: `{ kind: ServiceAccount, namespace: {{ .Values.coredns.namespace | quote }}, name: {{ .Values.coredns.serviceAccount | quote }} }`,
      },
    ],
  },
  ...["rights", "server", "disruption-budget"].map((part) => ({
    source: `coredns/own/${part}.yaml`,
    path: `${PRODUCT}/coredns-own-${part}.yaml`,
    when: ".Values.coredns.own",
    edits: part === "disruption-budget" ? [EVICTION] : (OWN_DNS_EDITS[part] ?? []),
  })),
  ...["clusterproperties", "serviceexports", "serviceimports"].map((crd) => ({
    source: `crds/${crd}.yaml`,
    path: `clusterset-crds/files/${crd}.yaml`,
    isCopy: true as const,
  })),
];
