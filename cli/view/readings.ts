import type { AgentPage } from "../../api/agent-page.ts";
import type { Reason } from "../../api/reasons.ts";

/** Why something could not be read. */
export interface Unread {
  readonly reason: Reason;
  readonly detail: string;
}

/** A part of what a command shows that could not be read, such as `nodes`, and why. */
export interface UnreadPart extends Unread {
  readonly what: string;
}

/** What was read about the ClusterIP of a Service. */
export interface ClusterIpReading {
  /** Absent if it does not exist, or could not be read; so is the Namespace. */
  readonly service?: unknown;
  readonly namespace?: unknown;
  /** All EndpointSlices of the Service. */
  readonly slices: readonly unknown[];
  /** `/debug` of the controller that leads; absent if nothing asks for failover, or it could not be read. */
  readonly page?: unknown;
  readonly unread: readonly UnreadPart[];
}

/** A controller's pod, and its page `/debug`. */
export interface ControllerReading {
  readonly pod: string;
  readonly ready: boolean;
  /** The document of `/debug`; absent if it could not be read. */
  readonly page?: unknown;
  readonly unread?: Unread;
}

/** An agent's pod, and its page. */
export interface AgentReading {
  readonly pod: string;
  readonly node: string;
  readonly ready: boolean;
  /** Of a pod that is not ready, as Kubernetes reports it. */
  readonly detail?: string;
  /** `/status`; absent if it was not requested, or could not be read. */
  readonly page?: AgentPage;
  readonly unread?: Unread;
}

/** What was read of one context's cluster. */
export interface ContextReading {
  readonly context: string;
  /** Why nothing is known of the cluster: it does not answer, or is not a member. */
  readonly unknown?: Unread;
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
  /** Regions of its agents' nodes, each once; empty if flags give regions to clusters, or if they could not be read. */
  readonly nodeRegions: readonly string[];
  /** Only problems of this namespace are shown. */
  readonly namespace?: string;
  readonly unread: readonly UnreadPart[];
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
