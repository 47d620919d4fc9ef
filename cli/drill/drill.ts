import { fieldAt } from "../../api/parse/fields.ts";
import { sleep, systemClock } from "../../common/clock.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { DEPLOYMENTS, PODS, STATEFUL_SETS } from "../../common/kubernetes/kinds.ts";
import { metaOf } from "../../common/kubernetes/object-meta.ts";
import { requestBody } from "../../common/kubernetes/request-body.ts";
import type { ObjectName } from "../../common/kubernetes/resource.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { until, untilRunning } from "../clusters/until.ts";
import { type Calls, callerPod } from "./caller.ts";
import { type Attempt, type Phase, parseAttempt } from "./figures.ts";
import { ANNOTATION_REPLICAS, type DrilledWorkload } from "./workload.ts";

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
    await scaleAllBack(on, workloads, step);
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

/** Attempts of a write that another program's write precedes. */
const ATTEMPTS = 5;

/** Scales a workload to nothing, and records on it what it had. */
function scaleToNothing(on: Cluster, workload: DrilledWorkload): Promise<void> {
  return scale(on, workload, 0, String(workload.replicas));
}

/** Gives each workload its replicas back, whatever happens to the others, and names those that may lack them. Rejects with the first error. */
export async function scaleAllBack(
  on: Pick<Cluster, "objects" | "context">,
  workloads: readonly DrilledWorkload[],
  step: (text: string) => void,
): Promise<void> {
  let first: unknown;
  for (const workload of workloads) {
    const { kind, namespace, name, replicas } = workload;
    try {
      await scale(on, workload, replicas, null);
    } catch (thrown) {
      first ??= thrown;
      step(
        `${kind} ${namespace}/${name} may still have no pods: repeat the drill, or scale it to ${replicas}`,
      );
    }
  }
  if (first !== undefined) throw first;
}

async function scale(
  { objects, context }: Pick<Cluster, "objects" | "context">,
  { kind, namespace, name }: DrilledWorkload,
  replicas: number,
  record: string | null,
): Promise<void> {
  const resource = kind === "Deployment" ? DEPLOYMENTS : STATEFUL_SETS;
  const annotations = { [ANNOTATION_REPLICAS]: record };
  for (let attempt = 1; ; attempt++) {
    const live = await objects.get(resource, { namespace, name });
    const seen = live && metaOf(live.object);
    if (seen === undefined)
      throw new ApiFault("absent", `${context}: ${kind} ${namespace}/${name} is gone`);
    if (fieldAt(live?.object, "spec", "replicas") === replicas && record !== null) return;
    try {
      const patch = { metadata: { annotations }, spec: { replicas } };
      await objects.patch(resource, { namespace, name }, patch, seen);
      return;
    } catch (thrown) {
      const isConflict = thrown instanceof ApiFault && thrown.reason === "write-conflict";
      if (!isConflict || attempt === ATTEMPTS) throw thrown;
    }
  }
}

/** Milliseconds without a line after which the log counts as lost: the caller prints several a second. */
const SILENCE_MS = 30_000;
/** Attempts that are kept: those of a drill of an hour at 100 a second. */
const MOST_ATTEMPTS = 360_000;

/** The connections of a caller, as its log has them so far. */
class CallLog {
  readonly attempts: Attempt[] = [];
  readonly #ended = new AbortController();
  #fault: unknown;

  /** Follows the log of the caller's pod. */
  constructor(on: Cluster, { namespace = "", name }: ObjectName) {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/log?follow=true`;
    void this.#follow(on, path).catch((thrown: unknown) => {
      if (!this.#ended.signal.aborted) this.#fault = thrown;
    });
  }

  /** Throws what ended the log before its time. */
  check(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }

  end(): void {
    this.#ended.abort();
  }

  async #follow({ api }: Cluster, path: string): Promise<void> {
    const { signal } = this.#ended;
    const decoder = new TextDecoder();
    let rest = "";
    for await (const part of await requestBody(api, { path, signal, silence: SILENCE_MS })) {
      const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const attempt = parseAttempt(line);
        if (attempt !== undefined && this.attempts.length < MOST_ATTEMPTS)
          this.attempts.push(attempt);
      }
    }
    throw new ApiFault("unreachable", "The caller's pod has ended");
  }
}
