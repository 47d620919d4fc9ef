import { join } from "node:path";
import { bundle, copyNative } from "../scripts/build/bundle.ts";
import { KubeProxy, type Mode } from "../test/coexistence/kube-proxy.ts";
import type { Namespace } from "../test/lab/namespace.ts";
import { AgentProcess } from "../test/stages/agent-process.ts";
import type { MeasuredBackend } from "./backends.ts";
import { HOME } from "./shape.ts";
import type { Stage } from "./stage.ts";

/** Waits of ten seconds each for the agent: 10,000 chains are to be made. */
const PATIENCE = 6;

/** What programs a node. */
export interface Contestant {
  /** The name of its node. */
  readonly name: string;
  readonly node: Namespace;
  /** Milliseconds between two changes so that each is alone: it may make the second one wait for the first. */
  readonly rest: number;
  /** Starts it; returns the milliseconds until it reports readiness. */
  start(): Promise<number>;
  stop(): Promise<void>;
  /** Lists where it forwards connections to. Absent for kube-proxy, which keeps chains of deleted endpoints for a while. */
  readonly listing?: MeasuredBackend["listing"];
  /** Its own metrics. undefined if it has none. */
  readonly metrics?: (names: readonly string[]) => Promise<number[]>;
}

/** Bundles the agent as `make build` does; gives the command that starts it. */
export async function buildAgent(stage: Stage): Promise<string[]> {
  const program = join(stage.lab.directory, "clusterset-agent.mjs");
  await bundle(join(import.meta.dirname, "../agent/main.ts"), program);
  copyNative(stage.lab.directory);
  return [process.execPath, program];
}

/** Our agent with this backend, on the node of its title. */
export function agentOn(
  stage: Stage,
  { title: name, flags: own, listing }: MeasuredBackend,
  program: string[],
): Contestant {
  const flags = [
    ...["--cluster-id", HOME.cluster, "--region", HOME.region, "--node-name", name],
    ...["--clusterset-cidr", "241.0.0.0/8", ...own],
    // All services are in one namespace.
    ...["--max-rules-per-import", "2000000", "--max-rules-per-namespace", "2000000"],
  ];
  const kubeconfig = stage.plane.kubeconfig({ user: "admin" });
  const node = stage.node(name);
  const agent = new AgentProcess(node, { kubeconfig }, flags, program);
  return {
    name,
    node,
    rest: 60,
    listing,
    start: async () => {
      const began = performance.now();
      agent.launch();
      await patiently(() => agent.page("/readyz"));
      return performance.now() - began;
    },
    stop: async () => {
      await agent.stop();
    },
    metrics: async (names) => {
      const text = await agent.page("/metrics");
      return names.map((name) => sumOfMetric(text, name));
    },
  };
}

/** The real kube-proxy on the node of this name, with its default sync periods. */
export async function kubeProxyOn(stage: Stage, name: string, mode: Mode): Promise<Contestant> {
  const node = stage.node(name);
  const { admin } = stage.plane;
  const object = { apiVersion: "v1", kind: "Node", metadata: { name } };
  await admin.apply(object);
  const addresses = [{ type: "InternalIP", address: node.address() }];
  await admin.patch(object, { status: { addresses } }, "status");
  const kubeconfig = stage.plane.kubeconfig({ user: "admin" });
  const proxy = new KubeProxy(stage.lab, node, mode, name, kubeconfig, {});
  return {
    name,
    node,
    rest: 1_200, // minSyncPeriod is a second.
    start: async () => {
      const began = performance.now();
      await proxy.start();
      return performance.now() - began;
    },
    stop: () => proxy.stop(),
  };
}

/** The sum of a metric over its labels. */
export function sumOfMetric(text: string, name: string): number {
  const lines = text
    .split("\n")
    .filter(
      (line) => /[ {]/.test(line.slice(name.length, name.length + 1)) && line.startsWith(name),
    );
  if (lines.length === 0) return 0;
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

async function patiently(check: () => Promise<unknown>): Promise<void> {
  for (let waits = 1; ; waits++) {
    try {
      await check();
      return;
    } catch (error) {
      if (waits === PATIENCE) throw error;
    }
  }
}
