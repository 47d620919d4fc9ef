import { type Cidr, familiesIn, ofFamily } from "../../api/cidr.ts";
import { systemClock } from "../../common/clock.ts";
import { CodedError } from "../../common/errors.ts";
import { HttpServer } from "../../common/http.ts";
import type { Logger } from "../../common/log.ts";
import { VERSION } from "../../common/version.ts";
import { KINDS } from "../backends/kinds.ts";
import type { AgentConfig } from "../config/config.ts";
import { ConntrackFollower } from "../conntrack/conntrack-follower.ts";
import { HealthSource } from "../health/health-source.ts";
import { HealthTable } from "../health/health-table.ts";
import { WatchedEndpoints } from "../health/watched-endpoints.ts";
import type { NodeFact } from "../model/facts.ts";
import { Connections } from "../observe/connections.ts";
import { ConntrackObserver } from "../observe/conntrack-observer.ts";
import { HealthObserver } from "../observe/health-observer.ts";
import { AgentMetrics } from "../observe/metrics.ts";
import { Observer } from "../observe/observer.ts";
import { pages } from "../observe/pages.ts";
import { TrafficObserver } from "../observe/traffic-observer.ts";
import { Preflight } from "../preflight/preflight.ts";
import { interfacesSource } from "../sources/interfaces/interfaces-source.ts";
import { Agent } from "../sync/agent.ts";
import { interfaceAddresses } from "../system/addresses.ts";
import { NetlinkTable } from "../system/conntrack/netlink-table.ts";
import { ToolTable } from "../system/conntrack/tool-table.ts";
import { affinityLimit, processorClock, textOf } from "../system/kernel-files.ts";
import { becomeSoleWriter, type NodeLock } from "../system/node-lock.ts";
import { runProgram } from "../system/run-program.ts";
import { probeCommand, tcpConnect } from "../system/tcp-connect.ts";
import { longestTimeout } from "../system/tool-timeout.ts";
import { TrafficCounter } from "../traffic/traffic-counter.ts";
import { TrafficTable } from "../traffic/traffic-table.ts";
import { backendRemark, chooseBackend, openBackends } from "./choose-backend.ts";
import { LocalNode } from "./local-node.ts";
import { openObjectSource } from "./object-source.ts";
import { removeUntilDone } from "./remove-leftovers.ts";

/**
 * `run`: keeps the node's kernel in sync until `stop` is aborted; the rules then stay. Rejects if it
 * cannot start.
 *
 *     source -> Agent (model -> plan -> a reconciler per family -> backend) -> kernel
 *                 |
 *                 +-> Observer -> log, metrics -> pages
 *
 * `first` are the facts about the node according to the flags; `reserved` are addresses of the API server.
 */
export async function run(
  config: AgentConfig,
  first: NodeFact,
  reserved: readonly string[],
  log: Logger,
  stop: AbortSignal,
): Promise<void> {
  const lock = await becomeSoleWriter(config.lockFile, log, stop, systemClock);
  if (lock === undefined) return;
  try {
    await keepInSync(config, first, reserved, log, stop, lock);
  } finally {
    await lock.release();
  }
}

async function keepInSync(
  config: AgentConfig,
  first: NodeFact,
  reserved: readonly string[],
  log: Logger,
  stop: AbortSignal,
  lock: NodeLock,
): Promise<void> {
  const clock = systemClock;
  const families = familiesIn(config.clusterSetCidrs);
  const metrics = new AgentMetrics();
  const chosen = await chooseBackend(config.backends, KINDS, { config, log, clock, stop });
  if (chosen === undefined) return;
  const { variant, requirements } = chosen.backend;
  const connections = new Connections(log, metrics);
  const open = await openObjectSource(config, log, (resource, state) => {
    connections.observe(resource, state);
  });
  const addresses = [...reserved, ...open.addresses];
  const localNode = new LocalNode({ config, addresses, first, log });
  const interfaces = interfacesSource({
    ...{ read: interfaceAddresses, clock, log },
    explicitVips: config.explicitVipCidrs.length > 0,
  });
  let othersInPlace = true;
  const { tables, counters, readers } = openBackends(
    chosen.backend,
    config.clusterSetCidrs,
    { keep: [lock.descriptor], othersInPlace: () => othersInPlace },
    (family) => metrics.counters.respawns.inc({ family }),
  );
  const synced = Promise.withResolvers<void>();
  const observer = new Observer(log, metrics, clock, {
    listed: () => localNode.listed(),
    reconciled: () => {
      if ([...agent.families.values()].every((family) => family.synced)) synced.resolve();
    },
  });
  const cleanupEvents = new ConntrackObserver(log, metrics);
  const conntrackTables = [new NetlinkTable(), new ToolTable()];
  const followers = new Map(
    families.map((family) => {
      const ranges = ofFamily(config.clusterSetCidrs, family);
      const options = { family, ranges, tables: conntrackTables, clock, random: Math.random };
      return [family, new ConntrackFollower({ ...options, events: cleanupEvents })];
    }),
  );
  const vips = [...config.clusterSetCidrs, ...config.explicitVipCidrs];
  const healthObserver = new HealthObserver(log, metrics);
  const health = new HealthSource({
    evidence: new HealthTable(families, vips),
    watched: () => agent.facts && new WatchedEndpoints(agent.facts, Math.random),
    probe: (endpoint) => tcpConnect(endpoint, stop),
    clock,
    random: Math.random,
    events: healthObserver,
  });
  const trafficObserver = new TrafficObserver(log, metrics);
  const traffic = new TrafficCounter({
    table: new TrafficTable(families, vips),
    node: () => agent.facts?.node,
    clock,
    random: Math.random,
    events: trafficObserver,
  });
  const agent: Agent = new Agent({
    node: (observation) => localNode.of(observation),
    sources: [...open.sources, interfaces, health],
    tables,
    counters,
    readers,
    ruleLimits: config,
    today: () => Date.now(),
    limits: (family, signal) => chosen.backend.limits(family, signal),
    followers,
    clock,
    processorTime: processorClock(),
    random: Math.random,
    events: observer,
  });
  let serviceRanges: readonly Cidr[] = [];
  const preflight = new Preflight({
    clusterSetCidrs: config.clusterSetCidrs,
    serviceCidrs: config.serviceCidrs,
    nodeFault: () => localNode.fault,
    listedServiceCidrs: () => serviceRanges,
    requirements,
    lockFile: config.lockFile,
    probe: probeCommand,
    neighbours: (family) => {
      const { facts } = agent;
      if (facts === undefined) return undefined;
      const ofFamilyOnly = ofFamily(facts.node.clusterSetCidrs, family);
      const node = { ...facts.node, clusterSetCidrs: ofFamilyOnly };
      return new WatchedEndpoints({ ...facts, node }, Math.random);
    },
    connect: (endpoint) => tcpConnect(endpoint, stop),
    run: runProgram,
    read: textOf,
    clock,
    random: Math.random,
    guarded: (family) => agent.families.get(family)?.synced ?? false,
    report: (findings, conntrack) => observer.preflightRan(findings, conntrack),
  });
  metrics.gauges.build.set({ version: VERSION, node: process.version, backend: chosen.name }, 1);
  const text = async () => {
    metrics.progressed(agent, clock.now());
    for (const [resource, size] of open.sizes()) {
      metrics.gauges.sourceObjects.set({ resource }, size);
    }
    metrics.gauges.credentialExpiry.reset();
    for (const { credential, at } of open.expiries?.() ?? []) {
      metrics.gauges.credentialExpiry.set({ credential }, at);
    }
    metrics.gauges.brokenFiles.set(open.brokenFiles().length);
    metrics.gauges.affinityLimit.set((await affinityLimit()) ?? 0);
    const counts = await traffic.counts();
    const { facts } = agent;
    if (facts !== undefined) trafficObserver.counted(counts, facts.node, facts.slices.values());
    return metrics.text();
  };
  const server =
    config.http &&
    new HttpServer(
      config.http,
      pages({
        clock,
        metrics: { contentType: metrics.contentType, text },
        agent,
        toolTimeout: longestTimeout,
        unlisted: () =>
          open.brokenFiles().some(({ fault }) => fault === "unreadable") ? "unreadable" : undefined,
        backend: chosen.name,
        findings: () => preflight.findings,
        remarks: () => [
          backendRemark(chosen),
          ...connections.remarks(),
          ...healthObserver.remarks(),
          ...trafficObserver.remarks(),
        ],
      }),
      log,
    );
  const unusable = new AbortController();
  const over = AbortSignal.any([stop, unusable.signal]);
  await server?.start();
  metrics.start();
  agent.start();
  traffic.start();
  open.followServiceRanges?.((ranges) => {
    serviceRanges = ranges;
    preflight.again();
  });
  preflight.start();
  const unwatch = chosen.backend.watch((why) =>
    unusable.abort(new CodedError("CSP_BACKEND_UNUSABLE", why)),
  );
  const stopped = new Promise<void>((resolve) => {
    if (over.aborted) resolve();
    over.addEventListener("abort", () => resolve(), { once: true });
  });
  const end = await Promise.race([synced.promise.then(() => "synced"), stopped]);
  let removing = Promise.resolve();
  // Only now: for a moment two backends forward to the same endpoints; the other way round, none would.
  if (end === "synced") {
    preflight.again();
    const inUse = { name: chosen.name, variant, families };
    const ranges = config.clusterSetCidrs;
    const search = { kinds: KINDS, ranges, keep: [lock.descriptor], inUse };
    removing = removeUntilDone(search, log, clock, over, () => {
      othersInPlace = false;
      agent.checkSoon();
    });
  }
  await stopped;
  unwatch();
  await removing;
  log.info("Stopping; the kernel keeps its rules");
  await preflight.stop();
  await Promise.all([agent.stop(), traffic.stop()]);
  await open.close();
  await Promise.all([...followers.values()].map((follower) => follower.stop()));
  await server?.stop();
  unusable.signal.throwIfAborted();
}
