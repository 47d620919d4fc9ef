/** An alert, in the terms of Prometheus' alerting rules. */
export interface Alert {
  readonly alert: string;
  /** PromQL. */
  readonly expr: string;
  /** How long the expression has to hold, such as `15m`; absent: one evaluation is enough. */
  readonly for?: string;
  /** `critical`: connections fail, or nothing updates the nodes. `warning`: to be repaired in working hours. `info`: to be known. */
  readonly severity: "critical" | "warning" | "info";
  /** One clause. */
  readonly summary: string;
  /** What is the case, its effect on traffic, and where to look; with Prometheus' templates. */
  readonly description: string;
  /** The section of a guide that says what to do. */
  readonly runbook: `docs/${string}`;
}

/** The labels that say which cluster a target belongs to, if the scrape or an external label sets one. */
export const CLUSTER = "cluster";

/** The value of the label `job` of each program. */
export const JOBS = { agent: "clusterset-agent", controller: "clusterset-controller" } as const;

/** `on cluster c1`, or nothing if targets have no label `cluster`: part of a description. */
export const IN_CLUSTER = "{{ with $labels.cluster }} in cluster {{ . }}{{ end }}";
