import type { Family } from "../../api/address.ts";
import { systemClock } from "../../common/clock.ts";
import { CodedError } from "../../common/errors.ts";
import { HttpServer } from "../../common/http.ts";
import type { Logger } from "../../common/log.ts";
import { VERSION } from "../../common/version.ts";
import { sightOfKubeProxy } from "../backends/ipvs/support.ts";
import type { AgentConfig } from "../config/config.ts";
import type { NodeFact } from "../model/facts.ts";
import { Connections } from "../observe/connections.ts";
import { ConntrackObserver } from "../observe/conntrack-observer.ts";
import { AgentMetrics } from "../observe/metrics.ts";
import { Observer } from "../observe/observer.ts";
import { pages } from "../observe/pages.ts";
import { InterfacesSource } from "../sources/interfaces/interfaces-source.ts";
import { Agent, familiesOf } from "../sync/agent.ts";
import { interfaceAddresses } from "../system/addresses.ts";
import { affinityLimit } from "../system/affinity-limit.ts";
import type { NodeLock } from "../system/node-lock.ts";
import { makeBackends } from "./backends.ts";
import { backendRemark, chooseBackend } from "./choose-backend.ts";
import { makeFollowers } from "./conntrack.ts";
import { HomeNode } from "./home-node.ts";
import { KubeProxyWatch } from "./kube-proxy-watch.ts";
import { removeAllLeftovers } from "./leftovers.ts";
import { openSource } from "./open-source.ts";
import { makePreflight } from "./preflight.ts";
import { becomeSoleWriter } from "./sole-writer.ts";

/**
 * `run`: keeps the node's kernel in step until `stop` is aborted, then leaves it as it is. Rejects if it
 * cannot start.
 *
 *     source -> Agent (model -> plan -> a reconciler per family -> backend) -> kernel
 *                 |
 *                 +-> Observer -> log, metrics -> pages
 *
 * `first` is what is known of the node before anyone was asked; `reserved` are addresses of the API server.
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
    await keepInStep(config, first, reserved, log, stop, lock);
  } finally {
    await lock.release();
  }
}

async function keepInStep(
  config: AgentConfig,
  first: NodeFact,
  reserved: readonly string[],
  log: Logger,
  stop: AbortSignal,
  lock: NodeLock,
): Promise<void> {
  const clock = systemClock;
  const metrics = new AgentMetrics();
  const chosen = await chooseBackend(config, log, stop);
  if (chosen === undefined) return;
  const connections = new Connections(log, metrics);
  const open = await openSource(config, log, (resource, state) => {
    connections.observe(resource, state);
  });
  const addresses = [...reserved, ...open.addresses];
  const home = new HomeNode({ config, addresses, first, log });
  const interfaces = new InterfacesSource({ read: interfaceAddresses, clock, log });
  const backends = makeBackends({
    config,
    chosen,
    keep: [lock.descriptor],
    onRespawn: (family) => metrics.restoreRespawned(family),
  });
  const synced = Promise.withResolvers<void>();
  const observer = new Observer(log, metrics, clock);
  const followers = makeFollowers(config, clock, new ConntrackObserver(log, metrics));
  const agent: Agent = new Agent({
    node: (sight) => home.of(sight),
    sources: [open.source, interfaces],
    backends,
    followers,
    clock,
    random: Math.random,
    events: {
      listed: () => {
        observer.listed();
        home.listed();
      },
      planned: (key, plan) => observer.planned(key, plan),
      problems: (object, problems) => observer.problems(object, problems),
      failed: (failure) => observer.failed(failure),
      drifted: (drifted) => observer.drifted(drifted),
      lookFailed: (failure) => observer.lookFailed(failure),
      tried: (trial) => observer.tried(trial),
      setAside: (service) => observer.setAside(service),
      restored: (service) => observer.restored(service),
      lossDoubted: (loss) => observer.lossDoubted(loss),
      lossBelieved: (loss) => observer.lossBelieved(loss),
      reconciled: (reconciliation) => {
        observer.reconciled(reconciliation);
        if ([...agent.families.values()].every((family) => family.synced)) synced.resolve();
      },
    },
  });
  const guarded = (family: Family) => agent.families.get(family)?.synced ?? false;
  const preflight = makePreflight(config, chosen, observer, open.serviceCidrs, guarded);
  metrics.runs({ version: VERSION, node: process.version, backend: chosen.backend });
  metrics.readWaiting(function* () {
    for (const [family, { oldestWaiting }] of agent.families) {
      const waited = oldestWaiting === undefined ? 0 : clock.now() - oldestWaiting;
      yield [family, waited / 1000] as const;
    }
  });
  const text = async () => {
    metrics.manifestFilesBroken(open.brokenFiles().length);
    metrics.sourceObjects(open.sizes());
    metrics.affinityLimit((await affinityLimit()) ?? 0);
    return metrics.text();
  };
  const server =
    config.http &&
    new HttpServer(
      { host: config.http.host.text, port: config.http.port },
      pages({
        clock,
        metrics: { contentType: metrics.contentType, text },
        state: () => agent,
        verdicts: () => preflight.verdicts,
        remarks: () => [backendRemark(chosen), ...connections.remarks()],
        keys: () => agent.keys(),
        plan: (key) => agent.plan(key),
        counts: (key) => agent.counts(key),
      }),
      log,
    );
  const hindered = new AbortController();
  const watch = new KubeProxyWatch({
    ...{ look: sightOfKubeProxy, ranges: config.clusterSetCidrs, clock },
    excluded: config.kubeProxyExcludeCidrs,
    objected: (objection) => hindered.abort(new CodedError("CSP_BACKEND_UNUSABLE", objection)),
  });
  const over = AbortSignal.any([stop, hindered.signal]);
  await server?.start();
  metrics.start();
  agent.start();
  preflight.start();
  if (chosen.backend === "ipvs") watch.start();
  const stopped = new Promise<void>((resolve) => {
    if (over.aborted) resolve();
    over.addEventListener("abort", () => resolve(), { once: true });
  });
  const end = await Promise.race([synced.promise.then(() => "synced"), stopped]);
  let removing = Promise.resolve();
  // Only now: two sets of rules for a moment lead to the same endpoints, none would lead nowhere.
  if (end === "synced") {
    preflight.again();
    const kept = { chosen, families: familiesOf(config) };
    const search = { ranges: config.clusterSetCidrs, kept };
    removing = removeAllLeftovers(lock, log, search, over, () => agent.alone());
  }
  await stopped;
  watch.stop();
  await removing;
  log.info("Stopping; the kernel keeps its rules.");
  await preflight.stop();
  await agent.stop();
  await open.close();
  await Promise.all([...followers.values()].map((follower) => follower.stop()));
  await server?.stop();
  hindered.signal.throwIfAborted();
}
