import { setTimeout as sleep } from "node:timers/promises";
import type { Mode } from "../test/coexistence/kube-proxy.ts";
import { contest, type Measured } from "./contest.ts";
import { type Contestant, kubeProxyOn } from "./contestant.ts";
import { count } from "./figures.ts";
import { effortOf, type Options } from "./options.ts";
import { idle, type Quiet } from "./quiet.ts";
import { SERVICES } from "./shape.ts";
import { Stage } from "./stage.ts";

const MODES: readonly Mode[] = ["iptables-nft", "nftables", "iptables-legacy"];
/** With more services, a sync takes it seconds: then only these modes, for few changes. */
const MANY_SERVICES = 1_000;
const MODES_WITH_MANY: readonly Mode[] = ["iptables-nft", "nftables"];
/** This mode runs while they are written: iptables-restore 1.8.9 takes four minutes to create 110,000 chains at once (quadratic in their number). */
const FOLLOWING: Mode = "iptables-nft";
/** Each change waits for more than a second, so there are fewer. */
const CHANGES = 25;
const FEW_CHANGES = 5;
const SETTLED = 5_000;

/** What was measured of kube-proxy in one mode. */
export interface Rival {
  readonly mode: Mode;
  readonly measured: Measured[];
  readonly quiet: (Quiet & { readonly services: number })[];
}

/** The real kube-proxy with ordinary Services of the same size, on an API server of the same kind. */
export async function kubeProxies(options: Options, say: (what: string) => void): Promise<Rival[]> {
  const { quick } = options;
  const modes = quick ? MODES.slice(0, 2) : MODES;
  await using stage = await Stage.open(SERVICES, modes);
  const all: Contestant[] = [];
  for (const mode of modes) all.push(await kubeProxyOn(stage, mode, mode));
  const results = modes.map((mode): Rival => ({ mode, measured: [], quiet: [] }));
  for (const services of options.sizes) {
    const isMany = services > MANY_SERVICES;
    const changes = quick || isMany ? FEW_CHANGES : CHANGES;
    const usual = { ...effortOf(options, services), changes, flipSeconds: 0 };
    const effort = isMany ? { ...usual, series: 0, stormSeconds: 0 } : usual;
    say(`kube-proxy: ${count(services)} services are written`);
    if (isMany) await all[modes.indexOf(FOLLOWING)]?.start();
    await stage.load(services);
    for (const [i, result] of results.entries()) {
      const proxy = all[i];
      if (proxy === undefined) throw new Error("no kube-proxy");
      if (isMany && !MODES_WITH_MANY.includes(result.mode)) continue;
      say(`kube-proxy: ${count(services)} services, ${result.mode}`);
      await using client = stage.connect(result.mode);
      try {
        const isRunning = isMany && result.mode === FOLLOWING;
        result.measured.push(await contest(stage, proxy, client, services, effort, isRunning));
      } catch (error) {
        // The other figures of the run are worth more than these.
        if (!isMany) throw error;
        say(
          `kube-proxy: ${count(services)} services, ${result.mode}: not measured: ${String(error)}`,
        );
        await proxy.stop();
      }
    }
    if (services === 1 || isMany || quick) continue;
    say(`kube-proxy at rest: ${count(services)} services, ${effort.idleSeconds} s`);
    for (const proxy of all) await proxy.start();
    await sleep(SETTLED);
    const seen = await idle(
      all.map(({ node }) => node),
      effort.idleSeconds,
    );
    for (const [i, result] of results.entries()) {
      const one = seen[i];
      if (one !== undefined) result.quiet.push({ ...one, services });
    }
    for (const proxy of all) await proxy.stop();
  }
  return results;
}
