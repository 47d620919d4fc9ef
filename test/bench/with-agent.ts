import type { Flavour } from "../../agent/backends/iptables/flavour.ts";
import { figuresOf, time, times } from "./figures.ts";
import type { Size } from "./services.ts";
import { Stage } from "./stage.ts";
import { atMostMs, type Row } from "./table.ts";
import { count } from "./without-agent.ts";

/** Times that the service leaves its cluster, and comes back. */
const ROUNDS = 30;

/** The real agent, the real files, and a client that never stops connecting. */
export async function withAgent(flavour: Flavour, size: Size): Promise<Row[]> {
  await using stage = await Stage.open(flavour, size);
  await stage.startAgent();
  const idle = await stage.residentMiB();
  stage.write(1);
  const one = await failovers(stage);
  await stage.stopAgent();
  stage.write(size.services);
  const cold = await stage.startAgent();
  const all = await failovers(stage);
  const loaded = await stage.residentMiB();
  await stage.stopAgent();
  const again = await stage.startAgent();
  const written = await stage.agent.metric("clusterset_agent_kernel_objects_written_total");
  await stage.stopAgent();
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
    {
      what: "resident memory, loaded",
      ours: `${loaded.toFixed(0)} MiB`,
      beside: `${idle.toFixed(0)} MiB idle`,
      ratio: loaded / idle,
      target: { text: "idle <= 80 MB", met: idle * 1.048_576 <= 80 },
    },
  ];
}

/** Milliseconds from the renamed file to the first answer from there, and to the last begun elsewhere. */
async function failovers(stage: Stage): Promise<{ first: number[]; last: number[] }> {
  await using client = await stage.connect();
  const first: number[] = [];
  const last: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const away = await client.follow("regional", () => stage.move("regional"));
    const back = await client.follow("local", () => stage.move("local"));
    first.push(away.first, back.first);
    last.push(Math.max(away.first, away.last));
  }
  return { first, last };
}
