import { BACKENDS } from "../../agent/backends/names.ts";
import { AGENT } from "../../agent/config/config.ts";
import { type AnyProgram, flagList } from "../../common/config/flag.ts";
import { CONTROLLER } from "../../controller/config/config.ts";
import { STARTUP_TAINTS } from "../../controller/startup-taint/startup-taint.ts";

/** A JSON schema. */
type Schema = Readonly<Record<string, unknown>>;

/** Flags that `flags` does not accept: other values, or the templates, set them; or they have no meaning in a pod. */
const OF_TEMPLATES = {
  agent: [
    ...["manifests", "kubeconfig", "node-name", "lock-file", "http-address", "output"],
    ...["clusterset-cidr", "explicit-vip-cidrs", "backend"],
  ],
  controller: [
    ...["kubeconfig", "namespace", "registry", "hub-kubeconfig", "http-address"],
    ...["leader-election-id", "clusterset-cidr", "explicit-vip-cidrs", "startup-taint"],
  ],
} as const;

const TEXT: Schema = { type: "string" };
const FLAG: Schema = { type: "boolean" };
/** Passed on to Kubernetes, which validates it. */
const OBJECT: Schema = { type: "object" };
const OBJECTS: Schema = { type: "array", items: OBJECT };
/** An address and a prefix length; the programs check the numbers. */
const CIDRS: Schema = {
  type: "array",
  items: {
    type: "string",
    pattern: "^([0-9]{1,3}(\\.[0-9]{1,3}){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]*)/[0-9]{1,3}$",
  },
};
/** As in api/names.ts, or empty. */
const LABEL_VALUE: Schema = {
  type: "string",
  maxLength: 63,
  pattern: "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$",
};
const CLUSTER_ID: Schema = {
  type: "string",
  maxLength: 63,
  pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)?$",
};
const STRINGS: Schema = { type: "object", additionalProperties: TEXT };

/** The schema of the chart's values: unknown keys and flags are rejected. PURE. */
export function schema(): Schema {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Values of the chart clusterset-proxy",
    ...closed({
      // Helm merges these into the values of every subchart.
      global: OBJECT,
      identity: closed({
        cluster: { anyOf: [{ const: "" }, CLUSTER_ID] },
        clusterset: LABEL_VALUE,
        region: LABEL_VALUE,
      }),
      registry: closed({
        mode: { enum: ["mesh", "hub"] },
        hubSecret: { type: "string", minLength: 1 },
        create: FLAG,
        readers: { type: "array", items: CLUSTER_ID, uniqueItems: true },
      }),
      // Two of each family, while they change.
      clustersetCIDRs: { ...CIDRS, maxItems: 4 },
      explicitVIPCIDRs: CIDRS,
      ipv6Only: FLAG,
      imagePullSecrets: OBJECTS,
      agent: closed({
        ...podValues(AGENT, OF_TEMPLATES.agent),
        affinity: OBJECT,
        maxUnavailable: { type: ["integer", "string"], pattern: "^[0-9]{1,3}%$", minimum: 1 },
        backends: { type: "array", items: { enum: BACKENDS }, uniqueItems: true },
        pagesOnNodeAddress: FLAG,
        netRaw: FLAG,
        preflight: FLAG,
        privileged: FLAG,
      }),
      controller: closed({
        ...podValues(CONTROLLER, OF_TEMPLATES.controller),
        enabled: FLAG,
        replicas: { type: "integer", minimum: 0 },
        networkPolicy: closed({
          enabled: FLAG,
          monitoringNamespace: { type: "string", minLength: 1 },
        }),
      }),
      admissionPolicies: FLAG,
      openshift: FLAG,
      startupTaint: { enum: STARTUP_TAINTS },
      monitoring: closed({ kind: { enum: ["none", "annotations", "operator"] }, labels: STRINGS }),
      criticalPodsQuota: FLAG,
      coredns: closed({
        ...{ rbac: FLAG, namespace: TEXT, serviceAccount: TEXT, own: FLAG },
        image: { type: "string", pattern: "^[a-z0-9][a-zA-Z0-9._:/@-]*$" },
      }),
    }),
  };
}

/** Values that agent and controller both have. */
function podValues(
  program: AnyProgram,
  ofTemplates: readonly string[],
): Readonly<Record<string, Schema>> {
  const flags = flagList(program).filter(({ name }) => !ofTemplates.includes(name));
  const flag = ({ name, about }: (typeof flags)[number]) =>
    [name, { description: about, type: ["string", "integer"] }] as const;
  return {
    image: closed({
      repository: { type: "string", pattern: "^[a-z0-9][a-zA-Z0-9._:/-]*$" },
      tag: { type: "string", pattern: "^([a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?$" },
      digest: { type: "string", pattern: "^(sha256:[0-9a-f]{64})?$" },
      pullPolicy: { enum: ["Always", "IfNotPresent", "Never"] },
    }),
    flags: closed(Object.fromEntries(flags.map(flag))),
    resources: OBJECT,
    nodeSelector: STRINGS,
    tolerations: OBJECTS,
    priorityClassName: TEXT,
    podLabels: STRINGS,
    podAnnotations: STRINGS,
  };
}

/** An object without other keys. */
function closed(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", additionalProperties: false, properties };
}
