import { CLI_NAME } from "../../api/keys.ts";
import { nodeProbeScript, type PodTarget, probeScript, type ServerTarget } from "./probe-script.ts";

/** A label of the namespaces of probes: a later join finds what a killed one has left. */
export const LABEL_PROBE = "clusterset-proxy.io/probe";

/** Name of the pod, and of its service account; and of the pod with the node's network. */
export const PROBE = "probe";
export const NODE_PROBE = "node-probe";

/** What a probe is made of. */
export interface ProbeOptions {
  readonly namespace: string;
  readonly image: string;
  /** What it answers with. */
  readonly name: string;
  readonly servers: readonly ServerTarget[];
  /** Seconds after which it ends, whatever happens to the program that started it. */
  readonly most: number;
}

/** What a pod with the node's network is made of. */
export interface NodeProbeOptions extends Pick<ProbeOptions, "namespace" | "image" | "most"> {
  readonly targets: readonly PodTarget[];
}

/** The namespace of a probe, which goes with all that is in it. Privileged, as one pod has the node's network. PURE. */
export function probeNamespace(name: string) {
  return {
    metadata: {
      name,
      labels: { [LABEL_PROBE]: "", "pod-security.kubernetes.io/enforce": "privileged" },
    },
  };
}

/** Its service account: the default one is created a moment after the namespace. PURE. */
export function probeAccount(namespace: string) {
  return { metadata: { namespace, name: PROBE }, automountServiceAccountToken: false };
}

/** The pod: without rights, and with an end. PURE. */
export function probePod({ namespace, image, name, servers, most }: ProbeOptions) {
  const targets = servers.map((server) => JSON.stringify(server));
  return podOf(PROBE, { namespace, image, most }, [probeScript(), "--", name, ...targets]);
}

/** The pod that connects to the others from its node's address, which is all that it can do. PURE. */
export function nodeProbePod({ targets, ...options }: NodeProbeOptions) {
  const argv = [nodeProbeScript(), "--", ...targets.map((target) => JSON.stringify(target))];
  const { metadata, spec } = podOf(NODE_PROBE, options, argv);
  return { metadata, spec: { ...spec, hostNetwork: true } };
}

function podOf(
  name: string,
  { namespace, image, most }: Pick<ProbeOptions, "namespace" | "image" | "most">,
  argv: readonly string[],
) {
  return {
    metadata: { namespace, name, labels: { "app.kubernetes.io/managed-by": CLI_NAME } },
    spec: {
      ...{ restartPolicy: "Never", serviceAccountName: PROBE },
      ...{ automountServiceAccountToken: false, enableServiceLinks: false },
      ...{ activeDeadlineSeconds: most, terminationGracePeriodSeconds: 0 },
      nodeSelector: { "kubernetes.io/os": "linux" },
      securityContext: {
        ...{ runAsNonRoot: true, runAsUser: 65_532, runAsGroup: 65_532 },
        seccompProfile: { type: "RuntimeDefault" },
      },
      containers: [
        {
          name: PROBE,
          image,
          imagePullPolicy: "IfNotPresent",
          command: ["node", "-e", ...argv],
          resources: { requests: { cpu: "10m", memory: "64Mi" }, limits: { memory: "128Mi" } },
          securityContext: {
            ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
            capabilities: { drop: ["ALL"] },
          },
        },
      ],
    },
  };
}
