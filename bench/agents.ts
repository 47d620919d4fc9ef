import { setTimeout as sleep } from "node:timers/promises";
import type { MeasuredBackend } from "./backends.ts";
import { bareChanges } from "./bare.ts";
import { contest, type Measured } from "./contest.ts";
import { agentOn, buildAgent, type Contestant } from "./contestant.ts";
import { count, servicesOf, time } from "./figures.ts";
import { ENDPOINTS, effortOf, type Options } from "./options.ts";
import { idle, type Quiet } from "./quiet.ts";
import { harmAndRepair } from "./repair.ts";
import { IMPORTS } from "./shape.ts";
import { Stage } from "./stage.ts";
import type { Row } from "./table.ts";

/** Restores beside the changes of a size. */
const BARE_CHANGES = 7;
const WRITTEN = "clusterset_agent_kernel_objects_written_total";
/** Until what a start leaves has settled. */
const SETTLED = 5_000;

/** What became of an agent that was started over its own rules, which are as they should be. */
export interface Restarted {
  readonly services: number;
  /** Milliseconds. */
  readonly ready: number;
  /** Rules and chains: more than none is a mistake. */
  readonly written: number;
}

/** What was measured of the agent with one backend. */
export interface Agent {
  readonly backend: MeasuredBackend;
  /** Without any service. */
  readonly empty: Quiet;
  readonly measured: Measured[];
  readonly restarted: Restarted[];
  /** By number of services: milliseconds of the simplest tool with a part of one service, on the same table. */
  readonly bare: Map<number, readonly number[]>;
  /** At rest, by number of services; with the milliseconds until each harm is repaired. */
  readonly quiet: (Quiet & { readonly services: number; readonly repairs: readonly number[] })[];
}

/** The real agent, bundled, with each backend in turn, on a real API server. */
export async function agents(
  options: Options,
  say: (what: string) => void,
): Promise<{ agents: Agent[]; loads: Row[] }> {
  const { backends } = options;
  await using stage = await Stage.open(
    IMPORTS,
    backends.map(({ title }) => title),
  );
  const program = await buildAgent(stage);
  const all = backends.map((backend) => agentOn(stage, backend, program));
  const { quiet: empty } = await rest(all, 0);
  const results = backends.map(
    (backend, i): Agent => ({
      backend,
      empty: of(empty, i),
      measured: [],
      restarted: [],
      bare: new Map(),
      quiet: [],
    }),
  );
  const loads: Row[] = [];
  for (const services of options.sizes) {
    const effort = effortOf(options, services);
    say(`API server: ${count(services)} services are written`);
    loads.push(loadRow(services, await stage.load(services)));
    for (const [i, result] of results.entries()) {
      const { title } = result.backend;
      say(`API server to connection: ${count(services)} services, ${title}`);
      await using client = stage.connect(title);
      result.measured.push(await contest(stage, of(all, i), client, services, effort));
      const { node } = of(all, i);
      result.bare.set(services, await bareChanges(result.backend, node, BARE_CHANGES));
      result.restarted.push({ services, ...(await restart(of(all, i))) });
    }
    if (services === 1) continue;
    say(`at rest: ${count(services)} services, ${effort.idleSeconds} s`);
    const { quiet, repairs } = await rest(all, effort.idleSeconds, backends);
    for (const [i, result] of results.entries())
      result.quiet.push({ services, ...of(quiet, i), repairs: of(repairs, i) });
  }
  return { agents: results, loads };
}

/** Starts it over its own rules, and looks what it does to them. */
async function restart(agent: Contestant): Promise<Omit<Restarted, "services">> {
  const ready = await agent.start();
  const [written = Number.NaN] = (await agent.metrics?.([WRITTEN])) ?? [];
  await agent.stop();
  return { ready, written };
}

/**
 * Starts them one after the other, and looks what all of them take while nothing happens; then, with these backends, how long they take
 * to repair each harm.
 */
async function rest(
  all: readonly Contestant[],
  seconds: number,
  backends: readonly MeasuredBackend[] = [],
): Promise<{ readonly quiet: Quiet[]; readonly repairs: number[][] }> {
  for (const one of all) await one.start();
  await sleep(SETTLED);
  const nodes = all.map(({ node }) => node);
  const quiet = await idle(nodes, seconds);
  const repairs: number[][] = [];
  for (const [i, { harms }] of backends.entries()) {
    const times: number[] = [];
    for (const harm of harms) times.push(await harmAndRepair(of(all, i), harm));
    repairs.push(times);
  }
  for (const one of all) await one.stop();
  return { quiet, repairs };
}

function loadRow(services: number, ms: number): Row {
  return {
    what: `imports and slices written, up to ${servicesOf(services)} x ${ENDPOINTS}`,
    ours: time(ms),
  };
}

function of<T>(list: readonly T[], i: number): T {
  const one = list[i];
  if (one === undefined) throw new Error(`nothing at ${i}`);
  return one;
}
