import { field } from "../../api/parse/fields.ts";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";

/** A cluster, as a user knows it. */
export interface ClusterName {
  readonly context: string;
  /** URL of its API server. */
  readonly address: string;
}

/** What a user can do, by the reason of a fault. */
const ADVICE: Partial<Readonly<Record<FaultReason, string>>> = {
  unreachable:
    "check the address in the kubeconfig, the network, and proxy-url or HTTPS_PROXY if a proxy is between",
  stalled: "check the API server, or wait longer with --request-timeout",
  "no-credentials": "check the user and the cluster of this context in the kubeconfig",
  unauthorized: "log in again, or check the user of this context in the kubeconfig",
  forbidden: "see docs/guides/kubectl-plugin.md#rights",
  throttled: "try again later",
  garbage: "check the address in the kubeconfig, and whether a proxy or a login page answers",
  "server-error": "check the API server, and try again",
  "not-served": "check the address in the kubeconfig: an API server of Kubernetes serves this",
  "write-failed": "check the API server's log and its admission plugins, and try again",
};

/** Codes of a certificate that is not valid, of one that nobody known has signed, and of a server without TLS. */
const OF_TLS = /CERT|SIGNATURE|EPROTO|ERR_SSL|ERR_TLS/;
const TLS_ADVICE =
  "check the address and the CA in the kubeconfig, the server's certificate, and the clock of this machine";

/** API groups of the CRDs that each member has. */
const CRD_GROUPS = ["multicluster.x-k8s.io", "about.k8s.io"];

/** A fault of a request to a cluster: where, why, and what to do. */
export class ClusterFault extends ApiFault {
  readonly cluster: ClusterName;
  /** The fault, without the cluster and the advice. */
  readonly why: string;

  constructor(cluster: ClusterName, fault: ApiFault, cause?: unknown) {
    const { reason, message, retryAfter, status } = fault;
    const why = message.startsWith(`${cluster.context}: `)
      ? message.slice(cluster.context.length + 2)
      : message;
    super(reason, why, { cause, retryAfter, ...(status !== undefined && { status }) });
    this.name = "ClusterFault";
    this.cluster = cluster;
    // Also of a page of HTML.
    this.why = this.message.trim().replaceAll(/\s*\n\s*/g, " ");
  }

  /** Such as `https://10.0.0.1:6443: connect ECONNREFUSED; check …`; the context is named beside it. */
  get detail(): string {
    // That a cluster is no member says itself what to do.
    const isAnswered = this.reason !== "not-served" || this.status !== undefined;
    const advice = isOfTls(this) ? TLS_ADVICE : isAnswered ? ADVICE[this.reason] : undefined;
    return `${this.cluster.address}: ${this.why}${advice === undefined ? "" : `; ${advice}`}`;
  }
}

function isOfTls({ reason, cause }: ApiFault): boolean {
  if (reason !== "unreachable") return false;
  if (cause instanceof ApiFault) return isOfTls(cause);
  return OF_TLS.test(String(field(cause, "code")));
}

/** What to do with a cluster that is no member. PURE. */
export function joinAdvice(context: string): string {
  return `Let it join: kubectl clusterset join ${context} OTHERS --clusterset ID`;
}

/** A fault of `cluster`. `asked`: a resource or a query, if there was one. Other errors stay as they are. */
export function faultIn(cluster: ClusterName, thrown: unknown, asked?: unknown): unknown {
  if (!(thrown instanceof ApiFault) || thrown instanceof ClusterFault) return thrown;
  const isOwn = CRD_GROUPS.some((group) => group === field(asked, "group"));
  if (thrown.reason !== "not-served" || !isOwn) return new ClusterFault(cluster, thrown, thrown);
  const message = `not a member: no CRDs. ${joinAdvice(cluster.context)}`;
  return new ClusterFault(cluster, new ApiFault("not-served", message), thrown);
}

/** Runs something whose faults are of `cluster`. */
export async function inCluster<Result>(
  cluster: ClusterName,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run();
  } catch (thrown) {
    throw faultIn(cluster, thrown);
  }
}

/** Called when a request begins; returns what is called when it has ended. */
export type Began = () => () => void;

/** `target`, whose methods reject with faults of `cluster`. The first argument of a method is what it asks for. */
export function naming<Target extends object>(
  target: Target,
  cluster: ClusterName,
  began: Began,
): Target {
  return new Proxy(target, {
    get(object, name) {
      // Methods have private fields of the object, not of this proxy.
      const member: unknown = Reflect.get(object, name, object);
      if (typeof member !== "function") return member;
      return (...args: readonly unknown[]): unknown => {
        const result: unknown = Reflect.apply(member, object, args);
        if (!(result instanceof Promise)) return result;
        const ended = began();
        return result.finally(ended).catch((thrown: unknown) => {
          throw faultIn(cluster, thrown, args[0]);
        });
      };
    },
  });
}

/** The reason for a fault of a cluster, to print behind its context. PURE. */
export function whyOf({ context }: ClusterName, fault: ApiFault): string {
  // Of a ClusterFault, the detail has no context; other messages may begin with it.
  const message = fault instanceof ClusterFault ? fault.detail : fault.message;
  const begin = `${context}: `;
  return message.startsWith(begin) ? message.slice(begin.length) : message;
}
