import assert from "node:assert/strict";
import { fieldAt } from "../../../api/parse/fields.ts";
import type { ApiClient } from "../../apiserver/api-client.ts";
import { HELLO, PORTS } from "../../apiserver/conformance/cases.ts";
import type {
  CaseCluster,
  Endpoint,
  ServedPort,
  ServiceCase,
  Slice,
} from "../../apiserver/service-case.ts";
import { PROBE_IMAGE } from "../../cluster/images.ts";
import { manifest } from "../../generators/objects.ts";
import { eventually } from "../../stages/agent-process.ts";
import type { Clusterset } from "../clusterset.ts";

/** Longer than a pod takes to start on a machine that does other things, too. */
const PATIENCE_MS = 180_000;

/** How long a call may take: longer than a resolver waits before it asks again, 5 s. */
const TIMEOUT_MS = 12_000;

const NAMESPACE = "asking";
const POD = manifest("Pod", `${NAMESPACE}/client`);

/** The response of a DNS server for one name and one type of record. */
interface DnsAnswer {
  readonly records?: readonly string[];
  /** `ENOTFOUND`: there is no such name. `ENODATA`: there is, and it has no such record. */
  readonly error?: string;
}

/** A real cluster with a client pod, which resolves names, and connects to servers that respond with their names. */
export class AskingCluster implements CaseCluster {
  readonly id: string;
  readonly plane: { readonly admin: ApiClient };
  readonly #set: Clusterset;

  private constructor(set: Clusterset, id: string) {
    this.id = id;
    this.#set = set;
    this.plane = set.clusters.cluster(id).plane;
  }

  /** Returns when the pod runs. */
  static async start(set: Clusterset, id: string): Promise<AskingCluster> {
    const cluster = new AskingCluster(set, id);
    const { admin } = cluster.plane;
    await admin.apply(manifest("Namespace", NAMESPACE));
    await admin.apply({ ...POD, spec: { containers: [{ name: "client", image: PROBE_IMAGE }] } });
    await eventually(async () => {
      assert.equal(fieldAt(await admin.get(POD), "status", "phase"), "Running");
    }, PATIENCE_MS);
    return cluster;
  }

  /** What the controllers have logged. */
  get log(): Promise<string> {
    const pods = ["logs", "-l", "app.kubernetes.io/name=clusterset-controller", "--tail=-1"];
    return this.#set.clusters.kubectl(this.id, ["-n", "clusterset-proxy", ...pods]);
  }

  /** What the cluster's DNS server answers the pod, in the questions' order. */
  async resolve(...questions: readonly string[]): Promise<DnsAnswer[]> {
    const said = await this.#exec(`node /app/request/resolve.ts ${questions.join(" ")}`);
    const lines = said.trim().split("\n");
    return lines.map((line) => JSON.parse(line));
  }

  /** The records that these questions are answered with, in their order; throws if one has none. */
  async records(...questions: readonly string[]): Promise<(readonly string[])[]> {
    return (await this.resolve(...questions)).map((answer) => {
      assert.ok(answer.records, `${this.id}: ${JSON.stringify(answer)}`);
      return answer.records;
    });
  }

  /**
   * Who answers the pod at `tcp://` or `udp://`, a host and a port: so many connections, one after the other. What was not
   * answered is in it as a word of images/request, such as `refused`.
   */
  async answers(target: string, count: number): Promise<string[]> {
    const flags = `--count ${count} --timeout ${TIMEOUT_MS}`;
    // Its exit code shows that a call failed, and so do its lines.
    const said = await this.#exec(`node /app/request/request.ts ${flags} '${target}' || :`);
    const lines = said.split("\n").slice(0, -1);
    const calls = lines.map((line) => JSON.parse(line)).filter((line) => "at" in line);
    assert.equal(calls.length, count, said);
    return calls.map(({ name, error }) => name ?? error);
  }

  #exec(command: string): Promise<string> {
    const argv = ["-n", NAMESPACE, "exec", "client", "--", "sh", "-c", command];
    return this.#set.clusters.kubectl(this.id, argv);
  }
}

/** The story of a Service that has pods. */
export type Story = ServiceCase<AskingCluster>;

/** What pods of the suite's Service listen on, TCP and UDP. */
const POD_PORT = 42;
const LABELS = { app: "hello" };
/** Longer than many pods take to start at once on a machine that does other things, too. */
const PODS_READY_MS = 180_000;
const FAMILIES = ["IPv4", "IPv6"];

/** The suite's Service, by which every connection may be answered by another pod. */
const SPREAD = { ...HELLO, selector: LABELS, sessionAffinity: "None", sessionAffinityConfig: null };

/** The endpoints of a Service: one pod of a Deployment by default. */
export interface Pods {
  readonly replicas?: number;
  /** Of a StatefulSet: they have hostnames. */
  readonly named?: boolean;
  readonly headless?: boolean;
}

/**
 * The suite's Service in a cluster, and real pods behind it, which answer with the cluster's id. Returns when all of them are
 * ready, and the cluster has slices that say so.
 */
export async function served(story: Story, id: string, pods: Pods = {}): Promise<void> {
  const { replicas = 1, named = false, headless = false } = pods;
  const { admin } = story.in(id).plane;
  await servedAt(story, id, PORTS, headless ? { clusterIP: "None" } : {});
  const argv = ["--name", id, "--tcp", `${POD_PORT}`, "--udp", `${POD_PORT}`];
  const container = {
    name: "hello",
    image: PROBE_IMAGE,
    command: ["node", "/app/serve/serve.ts", ...argv],
    readinessProbe: { tcpSocket: { port: POD_PORT }, periodSeconds: 1 },
  };
  await admin.apply({
    ...story.reference("apps/v1", named ? "StatefulSet" : "Deployment"),
    spec: {
      replicas,
      selector: { matchLabels: LABELS },
      template: { metadata: { labels: LABELS }, spec: { containers: [container] } },
      ...(named ? { serviceName: story.name, podManagementPolicy: "Parallel" } : {}),
    },
  });
  await eventually(async () => {
    for (const family of FAMILIES) {
      const ready = await endpointsOf(story, id, family);
      assert.equal(ready.length, replicas, `${story.namespace} in ${id}: ${family}`);
    }
  }, PODS_READY_MS);
}

/** The Service in a cluster, with these ports: they all lead to the one that its pods have. */
export async function servedAt(
  story: Story,
  id: string,
  ports: readonly ServedPort[],
  spec: object = {},
): Promise<void> {
  const leading = ports.map((port) => ({ ...port, targetPort: POD_PORT }));
  await story.serve(id, { ...SPREAD, ...spec, ports: leading });
}

/** The ready endpoints that a cluster's own slices of the Service have, as Kubernetes has made them. */
export async function endpointsOf(story: Story, id: string, family: string): Promise<Endpoint[]> {
  const { admin } = story.in(id).plane;
  const labelSelector = `kubernetes.io/service-name=${story.name}`;
  const slices = await admin.list(story.reference("discovery.k8s.io/v1", "EndpointSlice"), {
    labelSelector,
  });
  return readyIn(slices as Slice[], family);
}

/** Waits until a cluster's import has an address of each family. */
export function untilAddressed(story: Story, id: string) {
  return story.untilImported(id, ({ spec: { ips } }) => assert.equal(ips?.length, 2));
}

/** Waits until a cluster's imported slices list so many ready endpoints of each family. */
export async function untilEndpoints(story: Story, id: string, count: number): Promise<Slice[]> {
  return story.untilSlices(id, (slices) => {
    for (const family of FAMILIES) assert.equal(readyIn(slices, family).length, count, family);
  });
}

/** The ready endpoints of one family that slices list. */
export function readyIn(slices: readonly Slice[], family: string): Endpoint[] {
  const own = slices.filter(({ addressType }) => addressType === family);
  // Of an empty list, an API server makes null.
  const endpoints = own.flatMap((slice) => (slice.endpoints as Endpoint[] | null) ?? []);
  return endpoints.filter(({ conditions }) => conditions?.ready !== false);
}

/** `hello.case-7.svc.clusterset.local`, or of another zone. */
export function nameOf(story: Story, zone = "clusterset.local"): string {
  return `${story.name}.${story.namespace}.svc.${zone}`;
}
