import type { Flavour } from "../../agent/backends/iptables/flavour.ts";
import type { AgentProcess } from "../support/agent-process.ts";
import { count, figuresOf, time, times } from "./figures.ts";
import type { Size } from "./services.ts";
import { Stage } from "./stage.ts";
import { atMostMs, type Row } from "./table.ts";

/** Times that the service leaves its cluster, and comes back. */
const roundsOf = ({ services }: Size) => (services > 2_000 ? 30 : 50);

/** Waits of ten seconds: 10,000 files are to be read, and as many chains to be made. */
const PATIENCE = 6;

/** The real agent, the real files, and a client that never stops connecting. */
export async function withAgent(flavour: Flavour, size: Size): Promise<Row[]> {
  await using stage = await Stage.open(flavour, size);
  const { agent, bundled } = stage;
  const rounds = roundsOf(size);
  await start(bundled);
  const idle = await stop(bundled);
  await start(agent);
  const idleFromSources = await stop(agent);
  stage.write(1);
  await start(agent);
  const one = await failovers(stage, rounds);
  await stop(agent);
  stage.write(size.services);
  const cold = await start(agent);
  const all = await failovers(stage, rounds);
  const loadedFromSources = await stop(agent);
  const again = await start(agent);
  const written = await agent.metric("clusterset_agent_kernel_objects_written_total");
  await stop(agent);
  await start(bundled);
  const loaded = await stop(bundled);
  const full = `${count(size.services)} services`;
  const [first, last] = [figuresOf(all.first), figuresOf(all.last)];
  const [firstOfOne, lastOfOne] = [figuresOf(one.first), figuresOf(one.last)];
  return [
    {
      what: "file renamed -> new endpoint answers, 1 service",
      ours: times(firstOfOne),
    },
    {
      what: `  the same, ${full}`,
      ours: times(first),
      beside: `${times(firstOfOne)} 1 service`,
      ratio: first.p50 / firstOfOne.p50,
    },
    {
      what: "last local endpoint gone -> all regional, 1 service",
      ours: times(lastOfOne),
      target: atMostMs("p99", 50, lastOfOne.p99),
    },
    {
      what: `  the same, ${full}`,
      ours: times(last),
      beside: `${times(lastOfOne)} 1 service`,
      ratio: last.p50 / lastOfOne.p50,
      target: atMostMs("p99", 50, last.p99),
    },
    {
      what: "agent restarted, nothing changed -> ready",
      ours: time(again),
      beside: `${time(cold)} first start`,
      ratio: again / cold,
      target: { text: "writes nothing", met: written === 0 },
    },
    memory("idle", idle, idleFromSources, 80),
    memory("loaded", loaded, loadedFromSources, 160),
  ];
}

/** Gives the milliseconds until it is ready. */
async function start(agent: AgentProcess): Promise<number> {
  const began = performance.now();
  agent.launch();
  for (let waits = 1; ; waits++) {
    try {
      await agent.page("/readyz");
      return performance.now() - began;
    } catch (error) {
      if (waits === PATIENCE) throw error;
    }
  }
}

/** Gives the resident memory that it had at last, in megabytes. */
async function stop(agent: AgentProcess): Promise<number> {
  const bytes = await agent.metric("process_resident_memory_bytes");
  await agent.stop();
  return bytes / 1e6;
}

function memory(when: string, ours: number, sources: number, limit: number): Row {
  return {
    what: `resident memory, ${when}: make build`,
    ours: `${ours.toFixed(0)} MB`,
    beside: `${sources.toFixed(0)} MB from sources`,
    ratio: ours / sources,
    target: { text: `<= ${limit} MB`, met: ours <= limit },
  };
}

/** Milliseconds from the renamed file to the first answer from there, and to the last begun elsewhere. */
async function failovers(stage: Stage, rounds: number) {
  await using client = await stage.connect();
  const first: number[] = [];
  const last: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const away = await client.follow("regional", () => stage.move("regional"));
    const back = await client.follow("local", () => stage.move("local"));
    first.push(away.first, back.first);
    last.push(Math.max(away.first, away.last));
  }
  return { first, last };
}
