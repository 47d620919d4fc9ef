/** The kernel's evidence about endpoints of one family or several, and where verdicts are kept. */

/** Milliseconds between two checks of the evidence. */
export const LOOK_MS = 500;

/** An endpoint that accepts TCP connections. */
export interface TcpEndpoint {
  /** Canonical. */
  readonly address: string;
  readonly port: number;
}

/** An endpoint that has answered nobody since the first of these SYNs. */
export interface Overdue extends TcpEndpoint {
  /** First SYNs of connections: a sample. */
  readonly syns: number;
  /** SYNs that were sent again, because there was no answer for a second. */
  readonly repeats: number;
  /** Milliseconds since the first SYN of either kind. */
  readonly age: number;
  /** Milliseconds since the first repeated SYN; 0 if there is none. */
  readonly repeatedAge: number;
  /** Addresses of clients that sent some of these SYNs. */
  readonly clients: readonly string[];
}

/** An endpoint that has accepted a client's connection. */
export interface Answered extends TcpEndpoint {
  /** The client's address. */
  readonly client: string;
  /** Milliseconds since the last accepted connection of this client. */
  readonly age: number;
}

/** An endpoint that was found silent, and has not answered since. */
export interface SilentEndpoint extends TcpEndpoint {
  /** Its cluster. */
  readonly cluster: string;
  /** What was found silent: the endpoint, its group, or all of the cluster. */
  readonly scope: "endpoint" | "group" | "cluster";
  /** With a group: its name, `shop/web c2 IPv4 8080`; else empty. */
  readonly group: string;
  /** False if it is only suspected. */
  readonly isShown: boolean;
  /** With a group: others of it answer. */
  readonly isPartial: boolean;
  /** True if probes may not reach it. */
  readonly isTrial: boolean;
  /** The verdict is over, and clients try it again: it was shown silent, and has not answered since. */
  readonly isExpired: boolean;
  /** Milliseconds until clients try it again, or until it is forgotten. */
  readonly expires: number;
}

/** The evidence of one family or several. */
export interface Evidence {
  /** Makes sure that the kernel collects it. False if it does already; true if it begins now, without any verdict. Rejects with a coded error. */
  install(stop: AbortSignal): Promise<boolean>;
  /** Makes sure that the kernel does not, and returns the number of rules that were removed. Rejects with a coded error. */
  uninstall(): Promise<number>;
  /** Undefined if the kernel does not collect it any more. Rejects with a coded error. */
  overdue(): Promise<Overdue[] | undefined>;
  /** Clients that were answered in the last minutes, by endpoint. */
  answered(): Promise<Answered[]>;
  silent(): Promise<SilentEndpoint[]>;
  /** Keeps verdicts until they expire, or their endpoints answer. */
  add(endpoints: readonly SilentEndpoint[]): Promise<void>;
  /** Forgets unanswered SYNs to these endpoints: a verdict has used them, and the next one needs others. */
  forget(endpoints: readonly TcpEndpoint[]): Promise<void>;
  /** Drops verdicts. It is no error if one is gone already. */
  remove(endpoints: readonly TcpEndpoint[]): Promise<void>;
  /** Drops what `silent` has just reported, and returns those that were not gone yet. Unlike `remove`, it reads the kernel's set only if one was. */
  take<One extends TcpEndpoint>(endpoints: readonly One[]): Promise<One[]>;
}

/** Milliseconds after which an answer is late, but not yet too late. */
const LATE_MS = 500;

/** Whether an answer is late. PURE. */
export function isLate({ age, repeats }: Overdue): boolean {
  return repeats > 0 || age >= LATE_MS;
}

/**
 * Result of a probe: a connection; a refusal, which shows that the host is alive; no answer; or an error of this node, which says nothing about
 * the endpoint.
 */
export type ProbeResult = "accepted" | "refused" | "silent" | "unknown";

/** The latest probe of an endpoint. Times in milliseconds of the clock. */
export interface ProbeRecord {
  readonly result: ProbeResult;
  readonly begun: number;
  readonly ended: number;
  /** When one was last accepted; -Infinity if none was. */
  readonly accepted: number;
  /** True if it has answered clients although probes got no answer, and none was accepted since: it admits no nodes. */
  readonly isClosed: boolean;
  /** Calibrations in a row without a connection after which it has answered a client: it may admit no nodes, or a short outage or loss was in the way. */
  readonly contradicted: number;
  /** When the last probes without an answer began, this one included; none after an answer. */
  readonly silent: readonly number[];
}

/**
 * Whether probes of this node reach a group.
 *
 * - works: an endpoint that clients reach has answered a probe.
 * - assumed: this was not tried, and works in all other groups of the cluster that were.
 * - blind: an endpoint that clients reach has not, for example because a policy does not admit nodes.
 * - unknown: neither was tried.
 */
export type Reach = "works" | "assumed" | "blind" | "unknown";
