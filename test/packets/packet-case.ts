import type { Masquerade } from "../../agent/backends/backend.ts";
import type { NodeFact } from "../../agent/model/facts.ts";

/**
 * Objects, and the expected results of connections, for every backend. Each case runs in the tracers, on the rendered rules, and
 * with real connections in network namespaces.
 */
export interface PacketCase {
  readonly name: string;
  /** False where no real connection is possible, because no server exists at the address. */
  readonly real: boolean;
  /** ServiceImports and EndpointSlices, as manifests. */
  readonly objects: readonly object[];
  readonly flows: readonly Flow[];
  readonly masquerade: Masquerade;
  /** What the node is, made from the one of the address plan. */
  readonly node: (home: NodeFact) => NodeFact;
}

/** A new connection, and what becomes of it. */
export interface Flow {
  /** A pod of c1/n1, or `c1/n1` for the node itself: a path of the address plan. */
  readonly from: string;
  readonly to: Target;
  readonly expect: Expectation;
  /** The same client then connects to these, one after the other, and gets the pod that it got first. */
  readonly again: readonly Target[];
}

/** What a client connects to. */
export interface Target {
  readonly protocol: "tcp" | "udp" | "sctp";
  readonly address: string;
  readonly port: number;
}

/**
 * `Arrival[]`: one of them, with equal chances unless they have parts. `refused`: rejected at once (TCP reset, ICMP port unreachable). `untouched`: the
 * packet continues as without an agent. `unserved`: a port that no import has, at an explicit VIP: untouched, or refused by a
 * backend for which the address is local.
 */
export type Expectation = readonly Arrival[] | "refused" | "untouched" | "unserved";

/** Where a connection comes out. */
export interface Arrival {
  /** A pod: a path of the address plan. */
  readonly pod: string;
  readonly port: number;
  /** True if the server sees an address of the client's node rather than the client's. */
  readonly masquerade: boolean;
  /** Its part of the flow's connections, in comparison with the parts of the other arrivals; 1 by default. */
  readonly part?: number;
}

/** A case; flows from the client pod to TCP ports are the rule, so the rest is left out. */
export function packetCase(
  name: string,
  objects: readonly object[],
  flows: readonly (Flow | readonly Flow[])[],
  more: Partial<Pick<PacketCase, "real" | "masquerade" | "node">> = {},
): PacketCase {
  const usual = { real: true, masquerade: "none", node: (home: NodeFact) => home } as const;
  return { name, ...usual, objects, flows: flows.flat(), ...more };
}

/** A target of this protocol. */
export const tcp = (address: string, port: number): Target => ({ protocol: "tcp", address, port });
export const udp = (address: string, port: number): Target => ({ protocol: "udp", address, port });
export const sctp = (address: string, port: number): Target => ({
  protocol: "sctp",
  address,
  port,
});

/** TCP port 80 of these addresses. */
export const http = (...addresses: readonly string[]) => addresses.map((one) => tcp(one, 80));

/** Arrival at a pod, with the client's own address. */
export const at = (pod: string, port = 8080): Arrival => ({ pod, port, masquerade: false });
/** The same with a part of the connections. */
export const atPart = (part: number, pod: string): Arrival => ({ ...at(pod), part });
/** Arrival at a pod, with the node's address. */
export const masked = (pod: string, port = 8080): Arrival => ({ pod, port, masquerade: true });

/** An expectation, or the pods at which connections arrive, with their ports unless these are 8080: `c1/n1/a c2/n1/a:8090`. */
export type Expected = Expectation | `c${number}/${string}`;

/** One flow. */
export function flow(
  from: string,
  to: Target,
  expected: Expected,
  again: readonly Target[] = [],
): Flow {
  return { from, to, expect: isExpectation(expected) ? expected : arrivals(expected), again };
}

/** Flows from each of these clients to each of these targets. */
export function flows(
  from: string | readonly string[],
  to: Target | readonly Target[],
  expected: Expected,
): Flow[] {
  return [from].flat().flatMap((one) => [to].flat().map((target) => flow(one, target, expected)));
}

function isExpectation(expected: Expected): expected is Expectation {
  return typeof expected !== "string" || !expected.includes("/");
}

function arrivals(pods: string): Arrival[] {
  return pods.split(" ").map((word) => {
    const [pod = "", port = "8080"] = word.split(":");
    return at(pod, Number(port));
  });
}
