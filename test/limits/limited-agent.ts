import { resourceUsage } from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Transaction } from "../../agent/backends/backend.ts";
import type { Dataplane } from "../../agent/backends/dataplane.ts";
import { Iptables } from "../../agent/backends/iptables/kernel.ts";
import { Ipvs } from "../../agent/backends/ipvs/kernel.ts";
import { KernelTable } from "../../agent/backends/kernel-table.ts";
import { Nftables } from "../../agent/backends/nftables/kernel.ts";
import { FLAGS } from "../../agent/config/flags.ts";
import { ConntrackFollower } from "../../agent/conntrack/conntrack-follower.ts";
import type { ImportFact, SliceFact } from "../../agent/model/facts.ts";
import type { RuleLimits } from "../../agent/model/rule-budget.ts";
import { ConntrackObserver } from "../../agent/observe/conntrack-observer.ts";
import { AgentMetrics } from "../../agent/observe/metrics.ts";
import { Observer } from "../../agent/observe/observer.ts";
import { pages } from "../../agent/observe/pages.ts";
import { Agent } from "../../agent/sync/agent.ts";
import type { ObjectKey } from "../../api/names.ts";
import { systemClock } from "../../common/clock.ts";
import { HttpServer } from "../../common/http.ts";
import { createLogger } from "../../common/log.ts";
import { keepHeapSmall } from "../../common/process.ts";
import { FakeSource } from "../doubles/fake-source.ts";
import { cidr, importFact, nodeFact, sliceFact } from "../generators/facts.ts";

/** An agent with the default limits and the largest imports of one namespace, for worst-imports.test.ts. */

keepHeapSmall();

const RANGE = cidr("241.0.0.0/8");
const POLICY = { mode: "none", podCidrs: [] } as const;

const OPTIONS = { family: "IPv4", clusterSetCidrs: [RANGE], masquerade: POLICY } as const;
/** Rules, IPVS commands or elements of the largest transaction. */
let largest = 0;

/** A table on a kernel that accepts everything and keeps nothing but what the agent knows of it. */
function accepting<Content, Commands extends Transaction>(
  { layout }: Dataplane<Content, Commands>,
  rulesOf: (commands: Commands) => Iterable<number>,
): KernelTable {
  const dataplane: Dataplane<Content, Commands> = {
    layout,
    read: async (_scope, held) => ({ held }),
    changes: async () => undefined,
    close: async () => undefined,
    write: async (commands) => {
      let rules = 0;
      for (const count of rulesOf(commands)) {
        rules += count;
        await new Promise(setImmediate);
      }
      largest = Math.max(largest, rules);
      return new Set();
    },
  };
  return new KernelTable(dataplane);
}

const BACKENDS = {
  iptables: () =>
    accepting(new Iptables({ ...OPTIONS, explicitVipCidrs: [], flavour: "nft" }), (commands) =>
      commands.pieces().map((piece) => piece.split("\n-A ").length - 1),
    ),
  ipvs: () =>
    accepting(new Ipvs({ ...OPTIONS, scheduler: "rr" }), ({ steps }) =>
      steps.map((step) => (step.kind === "ipvs" ? step.commands.length : 0)),
    ),
  nftables: () =>
    accepting(new Nftables({ ...OPTIONS, affinity: "remembered" }), ({ groups }) =>
      groups.map((group) =>
        group.reduce((sum, one) => sum + (one.kind === "add" ? one.elements : one.keys).length, 0),
      ),
    ),
};
/** A backend of the tests. */
export type Kind = keyof typeof BACKENDS;

const [shapeText = "", kind = "iptables"] = process.argv.slice(2);
const source = new FakeSource();
const metrics = new AgentMetrics();
const log = createLogger({ level: "info", format: "json" }, { write: () => {} });
const clock = systemClock;
const observer = new Observer(log, metrics, clock);
const limits: RuleLimits = {
  maxRulesPerImport: Number(FLAGS.maxRulesPerImport.default),
  maxRulesPerNamespace: Number(FLAGS.maxRulesPerNamespace.default),
  maxRules: Number(FLAGS.maxRules.default),
};
const follower = new ConntrackFollower({
  ...{ family: "IPv4", ranges: [RANGE], clock, random: Math.random },
  tables: [],
  events: new ConntrackObserver(log, metrics),
});
const agent = new Agent({
  today: () => 0,
  node: () => nodeFact({ podCidrs: [], clusterSetCidrs: [RANGE] }),
  sources: [source],
  tables: new Map([["IPv4", BACKENDS[kind as Kind]()]]),
  followers: new Map([["IPv4", follower]]),
  ruleLimits: limits,
  clock,
  random: Math.random,
  events: observer,
});
const server = new HttpServer(
  { host: "127.0.0.1", port: 0 },
  pages({
    clock,
    metrics: { contentType: metrics.contentType, text: () => metrics.text() },
    agent,
    findings: () => [],
    remarks: () => [],
    backend: "nftables",
    unlisted: () => undefined,
    toolTimeout: () => 0,
  }),
  log,
);

/** The objects of the namespace: so many imports, each with so many ports and slices. */
export interface Shape {
  readonly imports: number;
  readonly ports: number;
  readonly slices: number;
  /** Of each slice. */
  readonly slicePorts: number;
  readonly endpoints: number;
  readonly change?: Pick<ImportFact, "onEndpointDeath" | "affinitySeconds">;
}

/** What the agent reports once it is in sync, and whenever it is asked. */
export interface Report {
  readonly port: number;
  /** Rules, IPVS commands or elements of the largest transaction but the first. */
  readonly largest: number;
  /** The most memory so far, in megabytes. */
  readonly megabytes: number;
}

function* facts(shape: Shape, third: number): Generator<ImportFact | SliceFact> {
  const ports = portsOf(shape.ports);
  const slicePorts = portsOf(shape.slicePorts);
  for (let i = 0; i < shape.imports; i++) {
    const key: ObjectKey = `tenant/import-${i}`;
    yield importFact({
      ...{ key, created: i, vips: [`241.0.${i >> 8}.${i & 255}`], ports },
      ...shape.change,
    });
    for (let s = 0; s < shape.slices; s++) {
      const endpoints = Array.from({ length: shape.endpoints }, (_, e) => ({
        ...{ address: `10.${(s + i) & 255}.${(e >> 8) + third}.${e & 255}`, nodeName: "n1" },
        condition: "ready" as const,
      }));
      const cluster = "c1";
      yield sliceFact({
        ...{ key: `${key}.${s}`, importKey: key, cluster, ports: slicePorts, endpoints },
      });
    }
  }
}

function portsOf(count: number) {
  return Array.from({ length: count }, (_, i) => ({
    name: `port-with-a-long-name-${i}`,
    protocol: "TCP" as const,
    port: 1 + i,
  }));
}

function tell(shape: Shape, third: number): void {
  for (const fact of facts(shape, third)) {
    if ("importKey" in fact) source.tell.sliceChanged(fact, clock.now());
    else source.tell.importChanged(fact, clock.now());
  }
}

async function inSync(): Promise<void> {
  const waits = () => agent.families.get("IPv4")?.oldestWaiting !== undefined;
  do await sleep(20);
  while (!(agent.families.get("IPv4")?.synced ?? false) || waits());
}

const shape: Shape = JSON.parse(shapeText);
const port = await server.start();
agent.start();
tell(shape, 0);
source.tell.listed();
await inSync();
largest = 0;
// Every endpoint changes.
tell(shape, 100);
await inSync();
const report = () => {
  const megabytes = Math.round(resourceUsage().maxRSS / 1024);
  process.send?.({ port, largest, megabytes } satisfies Report);
};
process.on("message", report);
report();
