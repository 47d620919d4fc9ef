import { CLI_NAME } from "../../api/keys.ts";
import { probeScript, type ServerTarget } from "./probe-script.ts";

/** A label of the namespaces of probes: a later join finds what a killed one has left. */
export const LABEL_PROBE = "clusterset-proxy.io/probe";

/** Name of the pod, and of its service account. */
export const PROBE = "probe";

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

/** The namespace of a probe, which goes with all that is in it. PURE. */
export function probeNamespace(name: string) {
  return {
    metadata: {
      name,
      labels: { [LABEL_PROBE]: "", "pod-security.kubernetes.io/enforce": "restricted" },
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
  return {
    metadata: {
      ...{ namespace, name: PROBE },
      labels: { "app.kubernetes.io/managed-by": CLI_NAME },
    },
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
          command: ["node", "-e", probeScript(), "--", name, ...targets],
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
