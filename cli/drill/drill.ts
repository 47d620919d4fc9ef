import { systemClock } from "../../common/clock.ts";
import type { ObjectName } from "../../common/kubernetes/api-resource.ts";
import { PODS } from "../../common/kubernetes/kinds.ts";
import { sleep } from "../../common/sleep.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { untilRunning } from "../clusters/pod-start.ts";
import { until } from "../clusters/until.ts";
import { CallLog } from "./call-log.ts";
import { type Calls, callerPod } from "./caller.ts";
import type { Phase } from "./figures.ts";
import { scaleBack, scaleToNothing } from "./scale.ts";
import type { DrilledWorkload } from "./workload.ts";

/** What a drill needs. */
export interface DrillOptions {
  readonly on: Cluster;
  readonly workloads: readonly DrilledWorkload[];
  readonly calls: Calls;
  /** Where connections go now, by the plan of the cluster's agents; `isLocal` while they stay in the cluster. */
  readonly outcome: () => Promise<{ readonly text: string; readonly isLocal: boolean }>;
  /** Milliseconds of calls before and after each step. */
  readonly settle: number;
  /** Milliseconds for each step. */
  readonly timeout: number;
  readonly signal: AbortSignal;
  /** Called with each step. */
  readonly step: (text: string) => void;
}

/**
 * Scales the workloads to nothing and back while a pod opens connections. Whatever happens, they get their replicas back, and the pod is
 * deleted. Rejects with an ApiFault, or the reason of the signal.
 */
export async function drill(options: DrillOptions): Promise<readonly Phase[]> {
  const { on, workloads, calls, outcome, timeout, signal, step } = options;
  const name: ObjectName = { namespace: calls.namespace, name: callerName() };
  const phases: Phase[] = [];
  let log: CallLog | undefined;
  let isScaled = workloads.some(({ isInterrupted }) => isInterrupted);
  const untilThere = (isLocal: boolean) =>
    until(timeout, signal, async () => {
      const now = await outcome();
      return now.isLocal === isLocal
        ? { found: undefined }
        : { missing: `Connections still go to ${now.text}` };
    });
  const back = async () => {
    for (const workload of workloads) await scaleBack(on, workload);
    isScaled = false;
  };
  try {
    if (isScaled) {
      step("scaling back what an interrupted drill has left");
      await back();
      await untilThere(true);
    }
    await on.objects.create(PODS, callerPod(name.name, calls));
    step(
      `pod ${name.name} opens ${calls.rate} connections a second to ${calls.address}:${calls.port}`,
    );
    await untilRunning(on, name, timeout, signal);
    log = new CallLog(on, name);
    let begun = 0;
    const endPhase = async (phase: string) => {
      await sleep(systemClock, options.settle, signal);
      signal.throwIfAborted();
      log?.check();
      const { text } = await outcome();
      const attempts = (log?.attempts ?? []).slice(begun);
      begun += attempts.length;
      phases.push({ name: phase, answeredBy: text, attempts });
    };
    await endPhase("as it is");
    isScaled = true;
    for (const workload of workloads) await scaleToNothing(on, workload);
    step("scaled to nothing");
    await untilThere(false);
    await endPhase("scaled to nothing");
    await back();
    step("scaled back");
    await untilThere(true);
    await endPhase("scaled back");
    return phases;
  } finally {
    log?.end();
    try {
      if (isScaled) {
        await back();
        step("interrupted: scaled back");
      }
    } finally {
      await remove(on, name);
    }
  }
}

/** Unique enough for one namespace. */
function callerName(): string {
  return `clusterset-drill-${Math.random().toString(36).slice(2, 8).padEnd(6, "0")}`;
}

async function remove({ objects }: Cluster, name: ObjectName): Promise<void> {
  const live = await objects.get(PODS, name);
  const uid = live?.meta.uid;
  if (uid !== undefined) await objects.delete(PODS, name, { uid });
}
