import { readFileSync } from "node:fs";
import type { StagedCluster } from "../../test/apiserver/controller-stage.ts";
import { sumOfMetric } from "../contestant.ts";
import { usageIn } from "../usage.ts";

/** What a controller takes of the machine. Memory in megabytes of a million bytes. */
export interface Taken {
  /** VmRSS. */
  readonly resident: number;
  /** VmHWM: the most that it ever was. */
  readonly peak: number;
  /** Of V8's heap, what is in use: garbage that was not collected yet included. */
  readonly heap: number;
  /** The longest block of the event loop since the last call, in milliseconds, by samples. */
  readonly held: number;
  /** Processor time so far, in seconds. */
  readonly cpuSeconds: number;
}

/** Milliseconds between the controller's own looks at its event loop, which are in what they show. */
const SAMPLE = 100;

/** What the controller of a cluster takes now. */
export async function takenBy(cluster: StagedCluster): Promise<Taken> {
  const { pid } = cluster.process;
  const read = (file: string) => readFileSync(`/proc/${pid}/${file}`, "latin1");
  const [stat, status] = [read("stat"), read("status")];
  const { megabytes, cpuSeconds } = usageIn(stat, status);
  const page = await cluster.page("/metrics");
  const held = sumOfMetric(page, "nodejs_eventloop_lag_max_seconds") * 1_000 - SAMPLE;
  return {
    resident: megabytes,
    peak: (Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024) / 1e6,
    heap: sumOfMetric(page, "nodejs_heap_size_used_bytes") / 1e6,
    held: Math.max(0, held),
    cpuSeconds,
  };
}
