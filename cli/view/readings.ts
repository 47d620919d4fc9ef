import type { Reason } from "../../api/reasons.ts";

/** Why something could not be read. */
export interface Unread {
  readonly reason: Reason;
  readonly detail: string;
}

/** A controller's pod, and its page `/debug`. */
export interface ControllerReading {
  readonly pod: string;
  readonly ready: boolean;
  /** The document of `/debug`; absent if it could not be read. */
  readonly page?: unknown;
  readonly unread?: Unread;
}

/** An agent's pod, and its pages. */
export interface AgentReading {
  readonly pod: string;
  readonly node: string;
  readonly ready: boolean;
  /** Of a pod that is not ready, as Kubernetes reports it. */
  readonly detail?: string;
  /** `/readyz?verbose` and `/metrics`; absent if they were not requested, or could not be read. */
  readonly pages?: { readonly readyz: string; readonly metrics: string };
  readonly unread?: Unread;
}

/** What was read of one context's cluster. */
export interface ContextReading {
  readonly context: string;
  readonly controllers: readonly ControllerReading[];
  /** Replicas that the Deployment desires; absent without one. */
  readonly desiredControllers?: number;
  readonly agents: readonly AgentReading[];
  /** Nodes on which the DaemonSet desires an agent; absent without one. */
  readonly desiredAgents?: number;
  /** ServiceImports and ServiceExports, of the namespaces that were asked for. */
  readonly imports: readonly unknown[];
  readonly exports: readonly unknown[];
  /** Problems of the imports' plans (`importProblems`). */
  readonly problems: readonly Problem[];
  /** What could not be read, such as `nodes`. */
  readonly unread: readonly (Unread & { readonly what: string })[];
}

/** How bad, and of which object. */
export interface Problem {
  /** Such as `ServiceImport shop/web`. */
  readonly object: string;
  readonly severity: "warning" | "fault";
  /** Our own word, or that of a condition. */
  readonly reason: string;
  readonly detail?: string;
}
