/** What the caller connects to, and how. */
export interface Calls {
  readonly namespace: string;
  readonly image: string;
  readonly address: string;
  readonly port: number;
  /** Connections a second. */
  readonly rate: number;
  /** Seconds after which it ends, whatever happens to the program that started it. */
  readonly most: number;
}

/** Milliseconds after which a connect has failed: clients that wait that long lose nothing when a cluster dies. */
const CONNECT_MS = 5_000;

/**
 * Runs in the pod: opens connections and closes them, and prints each as JSON: `at`, when it began (milliseconds since 1970); `ms`, until it was
 * established; `error`, why it was not.
 */
export const CALLER_SCRIPT = `
const [host, port, rate] = process.argv.slice(1);
const call = () => {
  const at = Date.now();
  const begun = performance.now();
  const socket = require("node:net").connect({ host, port: Number(port) });
  let isDone = false;
  const end = (error) => {
    if (isDone) return;
    isDone = true;
    socket.destroy();
    console.log(JSON.stringify({ at, ms: performance.now() - begun, error }));
  };
  socket.setTimeout(${CONNECT_MS}, () => end("ETIMEDOUT"));
  socket.once("connect", () => end());
  socket.on("error", ({ code }) => end(code));
};
setInterval(call, 1000 / Number(rate));
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => process.exit(0));
`;

/** The pod of the caller: without rights, and with an end. */
export function callerPod(name: string, calls: Calls) {
  const { namespace, image, address, port, rate, most } = calls;
  return {
    metadata: {
      ...{ namespace, name },
      labels: { "app.kubernetes.io/managed-by": "kubectl-clusterset" },
    },
    spec: {
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      activeDeadlineSeconds: most,
      terminationGracePeriodSeconds: 0,
      securityContext: {
        ...{ runAsNonRoot: true, runAsUser: 65_534 },
        seccompProfile: { type: "RuntimeDefault" },
      },
      containers: [
        {
          name: "caller",
          image,
          imagePullPolicy: "IfNotPresent",
          command: ["node", "-e", CALLER_SCRIPT, "--", address, String(port), String(rate)],
          resources: {
            requests: { cpu: "50m", memory: "64Mi" },
            limits: { memory: "128Mi" },
          },
          securityContext: {
            ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
            capabilities: { drop: ["ALL"] },
          },
        },
      ],
    },
  };
}
