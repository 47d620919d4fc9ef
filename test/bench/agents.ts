import { setTimeout as sleep } from "node:timers/promises";
import { FLAVOURS, type Flavour } from "../../agent/backends/iptables/flavour.ts";
import { contest, type Measured } from "./contest.ts";
import { agentOn, buildAgent, type Contestant } from "./contestant.ts";
import { count, time } from "./figures.ts";
import { ENDPOINTS, effortOf, type Options } from "./options.ts";
import { idle, type Quiet } from "./quiet.ts";
import { IMPORTS } from "./shape.ts";
import { Stage } from "./stage.ts";
import type { Row } from "./table.ts";

const WRITTEN = "clusterset_agent_kernel_objects_written_total";
/** Until what a start leaves has settled. */
const SETTLED = 5_000;

/** What was measured of an agent that was started over its own rules, and then left alone. */
export interface Restarted extends Quiet {
  readonly services: number;
  readonly ready: number;
  readonly written: number;
}

/** What was measured of the agent of one flavour. */
export interface Agent {
  readonly flavour: Flavour;
  /** Without any service. */
  readonly empty: Quiet;
  readonly measured: Measured[];
  readonly restarted: Restarted[];
}

/** The real agent, bundled, of both flavours in turn, on a real API server. */
export async function agents(
  options: Options,
  say: (what: string) => void,
): Promise<{ agents: Agent[]; loads: Row[] }> {
  await using stage = await Stage.open(IMPORTS, FLAVOURS);
  const program = await buildAgent(stage);
  const all = FLAVOURS.map((flavour) => agentOn(stage, flavour, flavour, program));
  const empty = await rest(all, 0);
  const results = FLAVOURS.map(
    (flavour, i): Agent => ({ flavour, empty: of(empty, i), measured: [], restarted: [] }),
  );
  const loads: Row[] = [];
  for (const services of options.sizes) {
    const effort = effortOf(options, services);
    say(`API server: ${count(services)} services are written`);
    loads.push(loadRow(services, await stage.load(services)));
    for (const [i, result] of results.entries()) {
      say(`API server to connection: ${count(services)} services, iptables-${result.flavour}`);
      await using client = stage.connect(result.flavour);
      result.measured.push(await contest(stage, of(all, i), client, services, effort));
    }
    if (services === 1) continue;
    say(`at rest: ${count(services)} services, ${effort.idleSeconds} s`);
    const quiet = await rest(all, effort.idleSeconds);
    for (const [i, result] of results.entries())
      result.restarted.push({ ...of(quiet, i), services });
  }
  return { agents: results, loads };
}

/** Starts them one after the other, and looks what all of them take while nothing happens. */
async function rest(all: readonly Contestant[], seconds: number) {
  const starts: { ready: number }[] = [];
  for (const one of all) starts.push({ ready: await one.start() });
  await sleep(SETTLED);
  const quiet = await idle(
    all.map(({ node }) => node),
    seconds,
  );
  const written = await Promise.all(all.map(async (one) => (await one.metrics?.([WRITTEN]))?.[0]));
  for (const one of all) await one.stop();
  return all.map((_, i) => ({
    ...of(starts, i),
    ...of(quiet, i),
    written: written[i] ?? Number.NaN,
  }));
}

function loadRow(services: number, ms: number): Row {
  return {
    what: `${count(services)} imports and slices x ${ENDPOINTS} written to the API server`,
    ours: time(ms),
  };
}

function of<T>(list: readonly T[], i: number): T {
  const one = list[i];
  if (one === undefined) throw new Error(`nothing at ${i}`);
  return one;
}
