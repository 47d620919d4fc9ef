import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ANNOTATION_CLUSTER_SELECTORS, ANNOTATION_CLUSTER_WEIGHTS } from "../../api/keys.ts";
import { CountedConnections } from "../connections/connections.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { startServer } from "../lab/programs.ts";
import { AgentProcess, ManifestDirectory } from "./agent-process.ts";

const HTTP = { name: "http", port: 80, protocol: "TCP" };
const TARGET = { ...HTTP, port: 8080 };

/** Servers that run during the whole storm: a connection that fails is the fault of the rules. */
const SERVERS = [
  { cluster: "c1", pod: "a", address: "10.1.0.11" },
  { cluster: "c1", pod: "b", address: "10.1.0.12" },
  { cluster: "c2", pod: "c", address: "10.2.0.11" },
  { cluster: "c3", pod: "d", address: "10.3.0.11" },
] as const;
const PODS = { c1: { a: [], b: [], client1: [], client2: [] }, c2: { c: [] }, c3: { d: [] } };
const REGIONS = { c1: "eu-west", c2: "eu-west", c3: "us-east" };

/** The n-th state of the endpoints: every tier in turn, with one endpoint and with two, never with none. */
function slices(n: number): object[] {
  const ready = [[0, 1, 2, 3], [1, 2, 3], [2, 3], [0, 3], [3], [0, 1], [2]][n % 7] as number[];
  return (["c1", "c2", "c3"] as const).map((cluster) => {
    const endpoints = SERVERS.flatMap((server, i) =>
      server.cluster === cluster
        ? [{ addresses: [server.address], conditions: { ready: ready.includes(i) } }]
        : [],
    );
    const origin = { cluster, region: REGIONS[cluster] };
    return sliceObject(`web-${cluster}`, "shop/web", origin, [TARGET], endpoints);
  });
}

const VIPS = ["241.0.1.1", "241.0.1.2", "241.0.1.3", "241.0.1.4"];
/** Weights of clusters that are then one tier; without them, there are three. */
const WEIGHTS = [undefined, "c1=9,c2=1", "c1=1,c2=9", "c2=1,c3=2"];

/** The n-th state of the import. */
function importOf(n: number): object {
  const serve = importObject("shop/web", VIPS, [HTTP]) as { metadata: object };
  const weights = WEIGHTS[n % WEIGHTS.length];
  if (weights === undefined) return serve;
  const annotations = {
    [ANNOTATION_CLUSTER_SELECTORS]: "[]",
    [ANNOTATION_CLUSTER_WEIGHTS]: weights,
  };
  return { ...serve, metadata: { ...serve.metadata, annotations } };
}

/** What a machine can bear. */
export interface Load {
  /** Programs that connect, half of them in one pod and half in another. */
  readonly clients: number;
  /** Connections that each begins in a second, and has under way at a time. */
  readonly rate: number;
  readonly inFlight: number;
  /** Milliseconds after which an unanswered connection counts as hung. */
  readonly timeout: number;
  /** Milliseconds between two changes. */
  readonly pause: number;
  /** From where to where the pods' own ports are; with few, one is used again, and for two VIPs. As Linux has them if absent. */
  readonly ports?: readonly [number, number];
}

const HEAVY: Load = { clients: 8, rate: 1_000, inFlight: 8, timeout: 5_000, pause: 15 };

/** How hard a storm is, and how much it may cost. */
export interface Storm {
  /** Flags of the agent that say how it writes. */
  readonly flags: readonly string[];
  /** As many connections, at least, are made while as many changes, at least, are made live. */
  readonly connections: number;
  readonly changes: number;
  readonly load?: Load;
  /** The most SYNs that clients send a second time, per connection, without those that this machine had no time for. */
  readonly resent: number;
}

/**
 * Makes connections without a pause while endpoints of all tiers come and go, and the weights of their clusters change. Asserts that none fails or hangs, and that
 * hardly any SYN is lost: TCP sends a lost SYN again after a second, which a client sees as a slow connect only.
 */
export async function assertStorm(
  t: TestContext,
  { flags, connections, changes, load = HEAVY, resent: mayResend }: Storm,
): Promise<void> {
  const clusters = Object.entries(PODS).map(([id, pods]) => ({
    id,
    nodes: [{ name: "n1", pods }],
  }));
  await using lab = await Lab.create({ clusters });
  const servers = SERVERS.map(({ cluster, pod }) => lab.pod(cluster, "n1", pod));
  await Promise.all(servers.map((place, i) => startServer(place, "--name", SERVERS[i]?.pod ?? "")));
  // A server in TIME_WAIT drops the SYN of a reused client port, through another VIP: not a fault of rules.
  for (const server of servers)
    await server.exec(["sysctl", "-qw", "net.ipv4.tcp_max_tw_buckets=0"]);
  const manifests = new ManifestDirectory(lab, "manifests");
  manifests.write("import", importOf(0));
  manifests.write("slices", ...slices(0));
  const agent = new AgentProcess(lab.node("c1", "n1"), manifests.path, [
    ...["--cluster-id", "c1", "--region", "eu-west", ...flags],
  ]);
  await agent.start();

  // Two clients and four VIPs: one pair alone would run out of ports before its connections are forgotten.
  const pods = ["client1", "client2"].map((pod) => lab.pod("c1", "n1", pod));
  if (load.ports !== undefined) {
    const range = `net.ipv4.ip_local_port_range=${load.ports.join(" ")}`;
    for (const pod of pods) await pod.exec(["sysctl", "-qw", range]);
  }
  const { rate, inFlight, timeout } = load;
  const counted = new CountedConnections({ seconds: 3_600, rate, inFlight, timeout });
  for (const pod of pods) {
    for (const vip of VIPS.slice(0, load.clients / pods.length)) counted.add(pod, vip);
  }
  const overloadedBefore = overloaded();
  let done = 0;
  // Some share a transaction, the more so the busier the machine is: what counts is how many were live.
  const programmed = "clusterset_agent_network_programming_duration_seconds_count";
  let live = 0;
  while (live < changes || counted.answered < connections) {
    if (++done % 5 === 0) manifests.write("import", importOf(done / 5));
    else manifests.write("slices", ...slices(done));
    await sleep(load.pause);
    if (done % 25 === 0) live = await agent.metric(programmed);
  }
  const { total, slowest } = await counted.assertNoneFailed(1);
  assert.ok(total >= connections, `only ${total} connections`);
  assert.ok(live >= changes, `only ${live} changes`);
  const resent = await sum(pods, "TCPSynRetrans");
  const unaccepted = await sum(servers, "ListenDrops");
  const lost = resent - unaccepted - (overloaded() - overloadedBefore);
  t.diagnostic(
    `${total} connections, the slowest ${slowest} ms, ${resent} SYNs sent again, ${lost} of them without a drop by this machine; ${done} changes written, ${live} of them live by themselves`,
  );
  assert.ok(lost <= total * mayResend, `${lost} of ${resent} repeated SYNs were lost`);
  await agent.stop();
}

/** Packets that this machine dropped since it was started, because no processor had time for them. */
function overloaded(): number {
  const processors = readFileSync("/proc/net/softnet_stat", "utf8").trim().split("\n");
  const dropped = processors.map((line) => Number.parseInt(line.split(" ")[1] ?? "", 16));
  return dropped.reduce((a, b) => a + b, 0);
}

/** The sum of a counter of TCP in these network namespaces. */
async function sum(pods: readonly Namespace[], counter: string): Promise<number> {
  const counts = await Promise.all(pods.map((pod) => countOf(pod, counter)));
  return counts.reduce((a, b) => a + b, 0);
}

/** From the kernel's pairs of lines: names, then numbers. */
async function countOf(pod: Namespace, counter: string): Promise<number> {
  const lines = (await pod.exec(["cat", "/proc/net/netstat"])).split("\n");
  const [names = "", numbers = ""] = lines.filter((line) => line.startsWith("TcpExt:"));
  const at = names.split(" ").indexOf(counter);
  assert.ok(at > 0, "no such counter");
  return Number(numbers.split(" ")[at]);
}
