import { CLI_NAME } from "../../api/keys.ts";

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

/** Port on which a probe answers other probes, and the one of its page, on the loopback address only: it connects to what it is given. */
export const ANSWER_PORT = 10_271;
export const PAGE_PORT = 10_272;

/** Milliseconds for one connection, all of it. */
const CONNECT_MS = 5_000;
/** Bytes of an answer: more than one packet, so that packets that are too large for a tunnel are noticed. */
const ANSWER_BYTES = 8192;

/**
 * Runs in the pod, with its own name and API servers as arguments (`ServerTarget`, JSON). Answers connections with its name, so that a
 * pod of the same address in another cluster is noticed. `/?pods=JSON` connects to the API servers and to pods (`PodTarget`), and
 * returns an `Attempt` for each. To an API server it sends a TLS handshake and no more. `host`: where it listens, for tests.
 */
export function probeScript(host?: string): string {
  return `
const tls = require("node:tls");
${ATTEMPTS}
const [own, ...servers] = process.argv.slice(1);
net.createServer((socket) => {
  socket.on("error", () => {});
  socket.end(answerOf(own));
}).listen(${ANSWER_PORT}${host === undefined ? "" : `, "${host}"`});
const toServer = ({ to, host, port, ca }) => attempt(
  { to, kind: "server" },
  () => tls.connect({
    host, port,
    ...(net.isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca: Buffer.from(ca, "base64") }),
  }),
  (socket, end) => socket.once("secureConnect", () => end()),
);
require("node:http").createServer(async ({ url }, response) => {
  const pods = JSON.parse(new URL(url, "http://localhost").searchParams.get("pods") ?? "[]");
  const all = [...servers.map((text) => toServer(JSON.parse(text))), ...pods.map((pod) => toPod(pod, "pod"))];
  response.end(JSON.stringify(await Promise.all(all)));
}).listen(${PAGE_PORT}, "${host ?? "127.0.0.1"}");
`;
}

/**
 * Runs in a pod with the node's network, with pods as arguments (`PodTarget`, JSON): connects to them, writes an `Attempt` for each
 * into its termination message, and ends. It listens nowhere: it would be on the node's addresses.
 */
export function nodeProbeScript(file = TERMINATION_MESSAGE): string {
  return `
${ATTEMPTS}
Promise.all(process.argv.slice(1).map((text) => toPod(JSON.parse(text), "node"))).then((all) => {
  require("node:fs").writeFileSync("${file}", JSON.stringify(all));
});
`;
}

/** Default file of a container's termination message. The kubelet keeps 4,096 bytes. */
const TERMINATION_MESSAGE = "/dev/termination-log";

/** What both scripts begin with: `toPod`, and `attempt` for other connections. */
const ATTEMPTS = `const net = require("node:net");
const answerOf = (name) => (name + "\\n").padEnd(${ANSWER_BYTES}, ".");
const attempt = (target, open, succeed) => new Promise((resolve) => {
  const begun = performance.now();
  let isConnected = false;
  let socket;
  const end = (error) => {
    clearTimeout(timer);
    socket?.destroy();
    resolve({ ...target, isConnected, ms: Math.round(performance.now() - begun), error });
  };
  const timer = setTimeout(() => end("ETIMEDOUT"), ${CONNECT_MS});
  try {
    socket = open();
  } catch ({ code, message }) {
    // Such as a CA that is none.
    return end(code ?? message);
  }
  socket.once("connect", () => { isConnected = true; });
  socket.on("error", ({ code, message }) => end(code ?? message));
  succeed(socket, end);
});
const toPod = ({ to, address, name }, kind) => attempt(
  { to, kind, address },
  () => net.connect({ host: address, port: ${ANSWER_PORT} }),
  (socket, end) => {
    let text = "";
    socket.on("data", (part) => {
      text += part;
      if (text.length > ${ANSWER_BYTES}) end("OTHER");
    });
    socket.once("end", () => end(text === answerOf(name) ? undefined : "OTHER"));
  },
);`;

/** An API server to connect to. */
export interface ServerTarget {
  /** Cluster ID, or the context of a hub. */
  readonly to: string;
  /** Name or address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** PEM in base64; absent: the CAs of Node. */
  readonly ca?: string;
}

/** Another probe to connect to. */
export interface PodTarget {
  /** Cluster ID. */
  readonly to: string;
  readonly address: string;
  /** What it answers with. */
  readonly name: string;
}

/** The host and port of a URL, as a `ServerTarget` has them. PURE. */
export function hostAndPort(server: string): Pick<ServerTarget, "host" | "port"> {
  const { hostname, port } = new URL(server);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? 443 : Number(port) };
}
