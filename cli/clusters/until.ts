import { field, fieldAt, listOf, textField } from "../../api/parse/fields.ts";
import { sleep, systemClock } from "../../common/clock.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { PODS } from "../../common/kubernetes/kinds.ts";
import type { ObjectName } from "../../common/kubernetes/resource.ts";
import type { Cluster } from "./cluster.ts";

/** Milliseconds between attempts. */
const PAUSE_MS = 500;
/** Faults that pass: the connection, the server's load, and kinds that are served a moment after their CRD is applied. */
const PASSING = [
  ...(["unreachable", "stalled", "throttled", "not-served"] as const),
  ...(["server-error", "write-failed"] as const),
];

/**
 * Repeats `attempt` until it returns a result, or until `within` milliseconds have passed, and then rejects with `stalled` and the
 * last explanation. `attempt` returns `{ missing }` with what it waits for.
 */
export async function until<Result>(
  within: number,
  signal: AbortSignal,
  attempt: () => Promise<{ readonly found: Result } | { readonly missing: string }>,
): Promise<Result> {
  const end = systemClock.now() + within;
  for (;;) {
    const outcome = await attempt().catch(passing);
    if ("found" in outcome) return outcome.found;
    signal.throwIfAborted();
    if (systemClock.now() >= end) {
      throw new ApiFault("stalled", `${outcome.missing} (after ${Math.round(within / 1000)} s)`);
    }
    await sleep(systemClock, PAUSE_MS, signal);
  }
}

function passing(thrown: unknown): { readonly missing: string } {
  if (!(thrown instanceof ApiFault) || !PASSING.some((reason) => reason === thrown.reason))
    throw thrown;
  return { missing: thrown.message };
}

/** Reasons of a container that does not start by itself. An image that could not be pulled is tried again, but seldom with success. */
const FINAL = [
  "ImagePullBackOff",
  "ErrImageNeverPull",
  "InvalidImageName",
  "CreateContainerConfigError",
];

/**
 * Waits until a pod runs; returns its addresses. Rejects with an ApiFault that says what Kubernetes reports of it, at once if it cannot
 * start.
 */
export function untilRunning(
  on: Cluster,
  name: ObjectName,
  within: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  return until(within, signal, async () => {
    const live = await on.objects.get(PODS, name);
    const status = field(live?.object, "status");
    if (textField(status, "phase") === "Running") {
      const ips = listOf(field(status, "podIPs")).flatMap((one) => textField(one, "ip") ?? []);
      return { found: ips };
    }
    return notYet(on, name, status);
  });
}

/**
 * Waits until a pod that does not restart has ended; returns the termination message of its container. Rejects with an ApiFault that says
 * what Kubernetes reports of it, at once if it has failed or cannot start.
 */
export function untilEnded(
  on: Cluster,
  name: ObjectName,
  within: number,
  signal: AbortSignal,
): Promise<string> {
  return until(within, signal, async () => {
    const live = await on.objects.get(PODS, name);
    const status = field(live?.object, "status");
    if (textField(status, "phase") === "Succeeded") {
      const [container] = listOf(field(status, "containerStatuses"));
      return { found: textField(fieldAt(container, "state", "terminated"), "message") ?? "" };
    }
    return notYet(on, name, status);
  });
}

/** What a pod waits for; throws if it waits in vain. */
function notYet(on: Cluster, name: ObjectName, status: unknown): { readonly missing: string } {
  const phase = textField(status, "phase") ?? "unknown";
  const { reason, text } = waitingOf(status);
  const title = `${on.context}: pod ${name.namespace ?? ""}/${name.name}`;
  const missing = `${title} is ${phase}${text === "" ? "" : ` (${text})`}`;
  if (phase === "Failed" || FINAL.includes(reason)) throw new ApiFault("refused", missing);
  return { missing };
}

function waitingOf(status: unknown): { readonly reason: string; readonly text: string } {
  const [container] = listOf(field(status, "containerStatuses"));
  const unscheduled = listOf(field(status, "conditions")).find(
    (one) => field(one, "type") === "PodScheduled" && field(one, "status") === "False",
  );
  const source = fieldAt(container, "state", "waiting") ?? unscheduled ?? status;
  const [reason = "", message = ""] = ["reason", "message"].map((key) => textField(source, key));
  return { reason, text: [reason, message].filter((one) => one !== "").join(": ") };
}
