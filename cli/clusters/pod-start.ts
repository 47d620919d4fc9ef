import { field, fieldAt, textField } from "../../api/parse/fields.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { PODS } from "../../common/kubernetes/kinds.ts";
import type { ObjectName } from "../../common/kubernetes/resource.ts";
import type { Cluster } from "./cluster.ts";
import { until } from "./until.ts";

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
      const ips = listIn(status, "podIPs").flatMap((one) => textField(one, "ip") ?? []);
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
      const [container] = listIn(status, "containerStatuses");
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
  const [container] = listIn(status, "containerStatuses");
  const unscheduled = listIn(status, "conditions").find(
    (one) => field(one, "type") === "PodScheduled" && field(one, "status") === "False",
  );
  const source = fieldAt(container, "state", "waiting") ?? unscheduled ?? status;
  const [reason = "", message = ""] = ["reason", "message"].map((key) => textField(source, key));
  return { reason, text: [reason, message].filter((one) => one !== "").join(": ") };
}

function listIn(object: unknown, name: string): readonly unknown[] {
  const list = field(object, name);
  return Array.isArray(list) ? list : [];
}
