import type { NodeCheck } from "../../api/agent-page.ts";
import { inTurns } from "../../api/in-turns.ts";
import { shown } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import type { Logger } from "../../common/log.ts";
import type { ProbeResult } from "../health/evidence.ts";
import type { HealthEvents } from "../health/health-events.ts";
import type { Verdict, VerdictEnd } from "../health/verdict.ts";
import { type AgentMetrics, errorLabel } from "./metrics.ts";

/**
 * Verdicts on endpoints and groups that are logged one by one: a node with thousands of pods may fail. And those of one namespace among them: a tenant can list
 * what does not answer.
 */
const MOST_SHOWN = 20;
const MOST_OF_NAMESPACE = 10;

const CLUSTERS = ({ scope }: Verdict): boolean => scope === "cluster";
const OTHERS = (verdict: Verdict): boolean => !CLUSTERS(verdict);

const MESSAGES = {
  endpoint: {
    begins: "Endpoint does not answer; using it last",
    ends: "Endpoint is used as before",
  },
  group: {
    begins: "No endpoint of an import in a cluster answers; using them last",
    ends: "Endpoints of an import in a cluster are used as before",
  },
  cluster: {
    begins: "No endpoint of a cluster answers; using the cluster last",
    ends: "Cluster is used as before",
  },
} as const;

/** Turns what is found about endpoints into metrics, log lines and remarks. */
export class HealthObserver implements HealthEvents {
  readonly #log: Logger;
  readonly #metrics: AgentMetrics;
  readonly #verdicts = new Map<string, Verdict>();
  /** Namespaces with more silent endpoints than are remembered: logged once, until their last verdict ends. */
  readonly #limitedTo = new Set<string>();
  #isUplinkSilent = false;
  #blind: ReadonlySet<string> = new Set();
  /** The fault that was logged last; absent while the evidence is available. */
  #fault: string | undefined;

  constructor(log: Logger, metrics: AgentMetrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  silent(verdict: Verdict): void {
    const { name, scope, terms } = verdict;
    this.#verdicts.set(name, verdict);
    this.#metrics.gauges.unanswering.inc({ scope });
    this.#metrics.counters.unanswered.inc({ scope });
    const message = MESSAGES[scope].begins;
    const fields = { ...fieldsOf(verdict), reason: "unanswering", holdMs: terms.hold };
    if (this.#isShown(verdict)) this.#log.warn(message, fields);
    else this.#log.debug(message, fields);
  }

  ended(verdict: Verdict, why: VerdictEnd, after: number): void {
    const { name, namespace, scope } = verdict;
    if (!this.#verdicts.delete(name)) return;
    const isOfIt = (one: Verdict) => one.namespace === namespace;
    if (this.#limitedTo.has(namespace) && !this.#verdicts.values().some(isOfIt))
      this.#limitedTo.delete(namespace);
    this.#metrics.gauges.unanswering.dec({ scope });
    const message = MESSAGES[scope].ends;
    const fields = { ...fieldsOf(verdict), why, seconds: Math.round(after / 1000) };
    if (this.#isShown(verdict)) this.#log.info(message, fields);
    else this.#log.debug(message, fields);
  }

  limited(namespace: string, most: number): void {
    if (this.#limitedTo.has(namespace) || this.#limitedTo.size >= MOST_SHOWN) return;
    this.#limitedTo.add(namespace);
    const message = "Many endpoints of a namespace do not answer; using the others as before";
    this.#log.warn(message, { namespace, reason: "too-many-silent", most });
  }

  probed(result: ProbeResult): void {
    this.#metrics.counters.probes.inc({ result });
  }

  uplink(isSilent: boolean): void {
    this.#isUplinkSilent = isSilent;
    this.#metrics.gauges.uplinkSilent.set(isSilent ? 1 : 0);
    if (isSilent) {
      this.#log.warn("No other cluster answers; the node's own uplink may be at fault", {
        reason: "uplink",
      });
    } else this.#log.info("Other clusters answer again, or are not called");
  }

  blind(clusters: ReadonlySet<string>): void {
    for (const cluster of clusters) {
      if (this.#blind.has(cluster)) continue;
      this.#metrics.gauges.blind.set({ member: cluster }, 1);
      this.#log.warn(
        "Probes do not reach a cluster; detecting its silent endpoints by clients alone",
        { cluster, reason: "blind" },
      );
    }
    for (const cluster of this.#blind) {
      if (clusters.has(cluster)) continue;
      this.#metrics.gauges.blind.remove({ member: cluster });
      this.#log.info("Probes reach a cluster again", { cluster });
    }
    this.#blind = new Set(clusters);
  }

  unavailable(error: unknown): void {
    const fault = error === undefined ? undefined : errorLabel(error);
    if (error !== undefined) this.#metrics.counters.healthFailures.inc({ code: errorLabel(error) });
    if (fault === this.#fault) return;
    this.#fault = fault;
    if (fault === undefined) this.#log.info("Silent endpoints are detected again");
    else this.#log.warn("Silent endpoints are not detected", { error });
  }

  /** Remarks on the node, which do not change the verdict of `/readyz`. */
  remarks(): NodeCheck[] {
    const inOrder = [...this.#verdicts.values()].toSorted((a, b) => a.since - b.since);
    const scopes = [CLUSTERS, OTHERS].map((isOf) => inOrder.filter(isOf));
    const remarks = scopes
      .flatMap((all) => inTurns(Map.groupBy(all, ({ namespace }) => namespace).values()))
      .slice(0, MOST_SHOWN)
      .map((verdict) => {
        const of = `${shown(verdict.name)} of ${shown(verdict.cluster)}`;
        return failing("unanswering", `${of}${exceptOf(verdict)}${heldFor(verdict)}`);
      });
    for (const cluster of [...this.#blind].toSorted().slice(0, MOST_SHOWN)) {
      const why = `probes of this node do not reach ${shown(cluster)}`;
      remarks.unshift(failing("blind", `${why}; without them, detection takes up to 7 s`));
    }
    if (this.#isUplinkSilent)
      remarks.unshift(failing("uplink", "no other cluster answers this node"));
    if (this.#fault !== undefined) {
      const detail = `silent endpoints are not detected: ${shown(this.#fault)}`;
      remarks.unshift({ name: NAME, state: "unknown", reason: "not-tested", detail });
    }
    return remarks.length > 0 ? remarks : [{ name: NAME, state: "ok" }];
  }

  /** A namespace with many verdicts counts as one with `MOST_OF_NAMESPACE`: it hides none of others. */
  #isShown(verdict: Verdict): boolean {
    if (CLUSTERS(verdict)) return true;
    const counts = new Map<string, number>();
    let all = 0;
    for (const one of this.#verdicts.values()) {
      const count = (counts.get(one.namespace) ?? 0) + 1;
      counts.set(one.namespace, count);
      if (count <= MOST_OF_NAMESPACE) all++;
      if (all > MOST_SHOWN) return false;
    }
    return (counts.get(verdict.namespace) ?? 0) <= MOST_OF_NAMESPACE;
  }
}

/** The name of all remarks on failure detection. */
const NAME = "health";

function failing(reason: Reason, detail: string): NodeCheck {
  return { name: NAME, state: "failing", reason, detail };
}

/** The namespace whose endpoints of the cluster answer. */
function exceptOf({ except }: Verdict): string {
  return except === "" ? "" : `, except those of namespace ${shown(except)}`;
}

/** What flaps is used last for a time, although it may answer. */
function heldFor({ terms: { recurrences, hold } }: Verdict): string {
  return hold === 0 ? "" : `, time ${recurrences + 1} in a row: for ${hold / 1000} s at least`;
}

function fieldsOf({ scope, cluster, endpoints, except }: Verdict) {
  const [endpoint] = endpoints.keys();
  return {
    cluster,
    ...(scope === "endpoint" && { endpoint }),
    ...(except !== "" && { exceptNamespace: except }),
  };
}
