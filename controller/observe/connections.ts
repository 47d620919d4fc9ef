import { isWatchFault, type ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import type { LogFields, LogLevel } from "../../common/log.ts";
import type { LimitedLog } from "../../common/log-rate-limit.ts";
import { registryNamespace } from "../registry/names.ts";
import type { ControllerMetrics } from "./metrics.ts";

/** Logs and counts the state of each watch. An outage is logged once, not at every retry. */
export class Connections {
  readonly #log: LimitedLog;
  readonly #metrics: ControllerMetrics;
  /** The last logged failure, until the watch works again. */
  readonly #lost = new Map<string, string>();

  constructor(log: LimitedLog, metrics: ControllerMetrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  /** `cluster`: whose registry; undefined: the local cluster. */
  observe(cluster: string | undefined, resource: string, { reason, detail }: ReflectorState): void {
    this.#metrics.connection(cluster === undefined ? "own" : "member", resource, reason);
    const source = cluster === undefined ? resource : `${cluster} ${resource}`;
    const lost = this.#lost.get(source);
    const fields = {
      ...(cluster !== undefined && { cluster, namespace: registryNamespace(cluster) }),
      resource,
      reason,
      ...(detail !== undefined && { detail }),
      ...(cluster !== undefined && hintFor(reason)),
    };
    const write = (level: LogLevel, message: string, fields: LogFields): void =>
      this.#log.write(source, { level, message, fields });
    if (isWatchFault(resource, reason) && reason !== lost) {
      this.#lost.set(source, reason);
      write("warn", "Watch failed; using last known state", fields);
    } else if (reason === "watching" && lost !== undefined) {
      this.#lost.delete(source);
      write("info", "Watch restored", { ...fields, was: lost });
    } else write("debug", "Watch state changed", fields);
  }
}

/** A hint for users: RBAC errors do not distinguish a missing namespace from missing rights. PURE. */
export function hintFor(reason: string): { readonly hint?: string } {
  if (reason !== "forbidden" && reason !== "absent") return {};
  return { hint: "check the namespace and its rights, see docs/guides/mesh-or-hub.md" };
}
