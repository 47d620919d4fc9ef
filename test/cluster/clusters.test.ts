import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { eventually } from "../stages/agent-process.ts";
import { Clusters } from "./clusters.ts";
import { PROBE_IMAGE } from "./images.ts";

/** The output of `request` for one attempt. */
interface Said {
  readonly name?: string;
  readonly source?: string;
  readonly error?: string;
}

interface Pod {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName: string };
  readonly status: {
    readonly podIPs: readonly { readonly ip: string }[];
    readonly containerStatuses: readonly { readonly restartCount: number }[];
  };
}

const [HERE, THERE] = ["cluster-1", "cluster-2"] as const;

describe("real clusters", () => {
  let clusters: Clusters;
  before(async () => {
    clusters = await Clusters.create({
      clusters: 2,
      nodes: 2,
      regions: ["eu-west", "us-east"],
      proxies: ["nftables"],
    });
    await Promise.all([HERE, THERE].map(deploy));
  });
  afterEach(() => clusters.heal());
  after(() => clusters?.remove());

  test("a Node has its region and zone as labels, and its pods are in the range that is routed to it", async () => {
    const nodes = JSON.parse(await clusters.kubectl(THERE, ["get", "nodes", "-o", "json"])).items;
    const facts = nodes.map(({ metadata, spec }: NodeObject) => [
      metadata.name,
      metadata.labels["topology.kubernetes.io/region"],
      metadata.labels["topology.kubernetes.io/zone"],
      ...spec.podCIDRs,
    ]);
    assert.deepEqual(facts, [
      ["cluster-2-node-1", "us-east", "us-east-a", "10.2.1.0/24", "fd00:10:2:1::/64"],
      ["cluster-2-node-2", "us-east", "us-east-b", "10.2.2.0/24", "fd00:10:2:2::/64"],
    ]);
    for (const { spec, status } of await pods(THERE, "web")) {
      const number = spec.nodeName.at(-1);
      assert.ok(status.podIPs[0]?.ip.startsWith(`10.2.${number}.`), JSON.stringify(status));
      assert.ok(status.podIPs[1]?.ip.startsWith(`fd00:10:2:${number}::`), JSON.stringify(status));
    }
  });

  test("a pod resolves a Service's name, and gets responses of its pods on both nodes", async () => {
    const url = "http://web.default.svc.cluster.local";
    const names = new Set((await ask(HERE, "--count", "40", url)).map(({ name }) => name));
    names.delete(undefined); // The sums.
    const own = (await pods(HERE, "web")).map(({ metadata }) => metadata.name);
    assert.deepEqual(names, new Set(own));
  });

  test("pods of two clusters can connect to each other, and see the client's address", async () => {
    const [client] = await pods(HERE, "client");
    for (const [i, url] of (await urlsOf(THERE)).entries()) {
      const [said] = await ask(HERE, url);
      assert.equal(said?.source, client?.status.podIPs[i]?.ip);
    }
  });

  test("cuts between two clusters block the selected traffic, and no other", async () => {
    const [pod = ""] = await urlsOf(THERE);
    // It responds in plain HTTP that it requires TLS.
    const api = clusters.cluster(THERE).plane.url.replace("https:", "http:");
    const [own = ""] = await urlsOf(HERE);
    const reached = async () => {
      const asked = [pod, api, own].map(async (url) => (await ask(HERE, url))[0]?.error);
      const errors = await Promise.all(asked);
      return errors.map((error) => error !== "timeout");
    };
    await clusters.cut(HERE, THERE, "pods");
    assert.deepEqual(await reached(), [false, true, true]);
    await clusters.heal();
    await clusters.cut(THERE, HERE, "api");
    assert.deepEqual(await reached(), [true, false, true]);
    await clusters.heal();
    await clusters.isolate(THERE);
    assert.deepEqual(await reached(), [false, false, true]);
    await clusters.heal();
    assert.deepEqual(await reached(), [true, true, true]);
  });

  test("while a control plane is stopped pods continue to serve, and after its start it has its objects", async () => {
    const { plane } = clusters.cluster(THERE);
    const [url = ""] = await urlsOf(THERE);
    const path = "/apis/apps/v1/namespaces/default/deployments";
    const list = () => clusters.kubectl(THERE, ["--request-timeout", "2s", "get", "--raw", path]);
    plane.freeze();
    try {
      await assert.rejects(list());
      assert.ok((await ask(HERE, url))[0]?.name);
    } finally {
      plane.thaw();
    }
    assert.match(await eventually(list, 30_000), /web/);
    await plane.kill();
    await assert.rejects(list());
    assert.ok((await ask(HERE, url))[0]?.name);
    await plane.start();
    assert.match(await eventually(list, 30_000), /web/);
  });

  test("after a power failure a node starts with its pods, which are restarted", async () => {
    const [pod] = await pods(THERE, "web");
    assert.ok(pod);
    const node = clusters.cluster(THERE).nodes.find(({ name }) => name === pod.spec.nodeName);
    assert.ok(node);
    await node.host.exec(["nft", "add table ip leftover"]);
    await node.restart();
    assert.doesNotMatch(await node.host.exec(["nft", "list tables"]), /leftover/);
    await eventually(async () => {
      const now = (await pods(THERE, "web")).find((one) => one.metadata.name === pod.metadata.name);
      assert.equal(now?.status.containerStatuses[0]?.restartCount, 1);
      const [said] = await ask(HERE, `http://${now.status.podIPs[0]?.ip}:8080`);
      assert.equal(said?.name, pod.metadata.name);
    }, 60_000);
  });

  /** Two servers, one on each node, behind a Service; and a pod to ask from. */
  async function deploy(cluster: string): Promise<void> {
    const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects() });
    await clusters.kubectl(cluster, ["apply", "-f", "-"], { stdin });
    const wait = ["rollout", "status", "--timeout", "120s"];
    for (const name of ["web", "client"])
      await clusters.kubectl(cluster, [...wait, `deployment/${name}`]);
  }

  async function pods(cluster: string, app: string): Promise<Pod[]> {
    const argv = ["get", "pods", "-o", "json", "-l", `app=${app}`];
    return JSON.parse(await clusters.kubectl(cluster, argv)).items;
  }

  /** Of a server pod, in both families. */
  async function urlsOf(cluster: string): Promise<string[]> {
    const [pod] = await pods(cluster, "web");
    return (pod?.status.podIPs ?? []).map(({ ip }) =>
      ip.includes(":") ? `http://[${ip}]:8080` : `http://${ip}:8080`,
    );
  }

  /** Sends a request from the client pod of a cluster; throws if that cannot be started. */
  async function ask(cluster: string, ...args: readonly string[]): Promise<Said[]> {
    const script = 'node /app/request/request.ts "$@" || true';
    const argv = ["exec", "deployment/client", "--", "sh", "-c", script, "sh", ...args];
    const lines = (await clusters.kubectl(cluster, argv)).trim().split("\n");
    return lines.map((line): Said => JSON.parse(line));
  }
});

interface NodeObject {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly podCIDRs: readonly string[] };
}

function objects(): object[] {
  const port = { port: 80, targetPort: 8080 };
  return [
    deployment("web", 2),
    deployment("client", 1),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web" },
      spec: { selector: { app: "web" }, ports: [port] },
    },
  ];
}

function deployment(app: string, replicas: number): object {
  const labels = { app };
  const container = {
    name: app,
    image: PROBE_IMAGE,
    imagePullPolicy: "Never",
    readinessProbe: { httpGet: { path: "/healthz", port: 8080 }, periodSeconds: 1 },
  };
  const spread = {
    maxSkew: 1,
    topologyKey: "kubernetes.io/hostname",
    whenUnsatisfiable: "DoNotSchedule",
    labelSelector: { matchLabels: labels },
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: app },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { topologySpreadConstraints: [spread], containers: [container] },
      },
    },
  };
}
