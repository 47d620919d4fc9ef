import type { Protocol } from "../../api/protocol.ts";
import type { LabSpec } from "../lab/topology.ts";

/**
 * A scenario is a text that somebody who knows kubectl can read, and write:
 *
 *     cluster brazil sa-brazil-1               a cluster and its region
 *     pod brazil/n1 server 172.16.0.21         a pod; its address, if it matters
 *     agent brazil/n1                          the node whose agent is looked at
 *     load prefer-local.yaml                   objects, from manifests/
 *     client -> tcp 241.0.0.10:80 : server     all new connections, and nobody else, get these pods
 *     client -> tcp 1.2.3.4:80 : refused       …or are refused at once
 *     set imported-brazil-serve-x2v9k not-ready   all endpoints of one slice: ready, not-ready, terminating
 *     client holds tcp 241.0.0.10:80           one connection that stays open…
 *     client is held                           …and is answered by the same pod still
 *     restart                                  the agent stops, and starts again over its own rules
 *
 * It is traced over the rendered rules; that kernels do the same with such rules, test/backends/packets.test.ts shows.
 */
export interface Scenario {
  readonly lab: LabSpec;
  /** Region by cluster. */
  readonly regions: ReadonlyMap<string, string>;
  readonly agent: { readonly cluster: string; readonly node: string };
  readonly steps: readonly Step[];
}

/** Where a connection goes to. */
export interface Target {
  readonly protocol: Protocol;
  readonly vip: string;
  readonly port: number;
}

/** What a scenario may set a slice's endpoints to. */
export const STATES = {
  ready: { ready: true },
  "not-ready": { ready: false, serving: false },
  terminating: { ready: false, serving: true, terminating: true },
} as const;
/** One of `STATES`. */
export type State = keyof typeof STATES;

/** One line of actions or checks; `line` is its text. */
export type Step = { readonly line: string } & (
  | { readonly does: "load"; readonly file: string }
  | { readonly does: "set"; readonly slice: string; readonly state: State }
  | {
      readonly does: "connect";
      readonly pod: string;
      readonly target: Target;
      readonly expect: readonly string[];
    }
  | { readonly does: "hold"; readonly pod: string; readonly target: Target }
  | { readonly does: "held"; readonly pod: string }
  | { readonly does: "restart" }
);

/** Reads a scenario. Throws at a line that it does not understand. */
export function parseScenario(text: string): Scenario {
  const clusters = new Map<string, Map<string, Record<string, string[]>>>();
  const regions = new Map<string, string>();
  let agent = { cluster: "", node: "" };
  const steps: Step[] = [];
  const podsOf = (path: string) => {
    const [cluster = "", node = ""] = path.split("/");
    const nodes = clusters.get(cluster) ?? new Map<string, Record<string, string[]>>();
    clusters.set(cluster, nodes);
    const pods = nodes.get(node) ?? {};
    nodes.set(node, pods);
    return pods;
  };
  for (const [, line = ""] of text.matchAll(/^ *([^#\n]*[^#\s])/gm)) {
    const words = line.split(/\s+/);
    const [verb, first = "", second = "", ...rest] = words;
    if (verb === "cluster") {
      clusters.set(first, new Map());
      regions.set(first, second);
    } else if (verb === "pod") podsOf(first)[second] = rest;
    else if (verb === "agent") {
      podsOf(first);
      const [cluster = "", node = ""] = first.split("/");
      agent = { cluster, node };
    } else steps.push(parseStep(line));
  }
  const lab = {
    clusters: [...clusters].map(([id, nodes]) => ({
      id,
      nodes: [...nodes].map(([name, pods]) => ({ name, pods })),
    })),
  };
  return { lab, regions, agent, steps };
}

function parseStep(line: string): Step {
  const load = /^load (\S+)$/.exec(line);
  if (load?.[1]) return { line, does: "load", file: load[1] };
  const set = /^set (\S+) (ready|not-ready|terminating)$/.exec(line);
  if (set?.[1]) return { line, does: "set", slice: set[1], state: set[2] as State };
  const connect = /^(\S+) -> (tcp|udp) (\S+):(\d+) : (.+)$/.exec(line);
  if (connect?.[1]) {
    const expect = (connect[5] ?? "").split(/\s+/);
    return { line, does: "connect", pod: connect[1], target: targetOf(connect), expect };
  }
  const hold = /^(\S+) holds (tcp) (\S+):(\d+)$/.exec(line);
  if (hold?.[1]) return { line, does: "hold", pod: hold[1], target: targetOf(hold) };
  const held = /^(\S+) is held$/.exec(line);
  if (held?.[1]) return { line, does: "held", pod: held[1] };
  if (line === "restart") return { line, does: "restart" };
  throw new Error(`not a line of a scenario: ${line}`);
}

function targetOf([, , protocol, vip, port]: readonly string[]): Target {
  return { protocol: protocol === "udp" ? "UDP" : "TCP", vip: vip ?? "", port: Number(port) };
}
