import type { Reason } from "../../api/reasons.ts";
import type { Identity } from "../identity/own-identity.ts";
import type { Controller } from "../sync/controller.ts";
import type { ControllerMetrics, Levels } from "./metrics.ts";

/** Who counts what is refused. */
type Refusals = Pick<ControllerMetrics, "refusedOf">;

/** What is believed of one cluster, for people. */
export interface ClusterView {
  readonly cluster: string;
  /** `alive` or `stale`, and why. */
  readonly state: string;
  readonly because: Reason;
  /** Whether what it publishes is believed, and why. */
  readonly verdict: Reason;
  readonly detail?: string;
  readonly records: "use" | "keep" | "drop";
  /** True once all of it has been listed since we began. */
  readonly listed: boolean;
  /** True while what it does not publish is known not to be exported: its Lease says so. */
  readonly assured: boolean;
  /** How each connection is, by resource. */
  readonly connections: Readonly<Record<string, string>>;
  readonly uid?: string;
  readonly region?: string;
  readonly exports: number;
  readonly slices: number;
  /** Parts of what it publishes that are refused, or cannot be imported here: how many, by reason. */
  readonly refused: Readonly<Record<string, number>>;
}

/** What `/debug` shows. */
export interface DebugView {
  readonly identity?: Identity;
  readonly leader: boolean;
  readonly holder?: string;
  readonly working: boolean;
  /** Why it does not work. */
  readonly because?: Reason;
  readonly imports: number;
  /** Parts of objects of our own cluster that are refused: how many, by reason. */
  readonly refused: Readonly<Record<string, number>>;
  /** Endpoints of our own cluster whose unreadiness is held back (`held-back`). */
  readonly heldBack: number;
  readonly queue: { readonly waiting: number; readonly working: number; readonly failing: number };
  readonly clusters: readonly ClusterView[];
}

/** What a controller believes, as of now. */
export function debugView(controller: Controller, metrics: Refusals): DebugView {
  const { identity, elector, heldBack, isWorking, lacks, own, queue } = controller;
  const holder = elector.state?.holder;
  return {
    ...(identity !== undefined && { identity }),
    leader: elector.isLeader(),
    ...(holder !== undefined && { holder }),
    working: isWorking,
    ...(lacks !== undefined && { because: lacks }),
    imports: own.imports.size,
    refused: metrics.refusedOf(undefined),
    heldBack,
    queue: {
      waiting: queue.depth,
      working: queue.working,
      failing: queue.failing,
    },
    clusters: clustersOf(controller, metrics),
  };
}

/** What a controller has to count, as of now. */
export function levelsOf(controller: Controller, metrics: Refusals): Levels {
  const { elector, queue, members, heldBack } = controller;
  const clusters = clustersOf(controller, metrics).map(
    ({ cluster, state, records, connections }) => {
      const isUp = Object.values(connections).every((one) => one === "watching");
      const level = {
        isAlive: state === "alive",
        isUp,
        isBelieved: records === "use",
        records: members.get(cluster)?.records.size ?? 0,
      };
      return [cluster, level] as const;
    },
  );
  return {
    waiting: queue.depth,
    working: queue.working,
    failing: queue.failing,
    oldest: queue.oldest / 1000,
    heldBack,
    isLeader: elector.isLeader(),
    clusters: new Map(clusters),
  };
}

function clustersOf({ members }: Controller, metrics: Refusals): ClusterView[] {
  return [...members].map((member): ClusterView => {
    const sight = members.sight(member.id);
    const verdict = members.verdict(member.id);
    const region = member.lease?.cluster?.region;
    return {
      cluster: member.id,
      state: sight?.state ?? "alive",
      because: sight?.reason ?? "awaited",
      verdict: verdict?.reason ?? "not-introduced",
      ...(verdict?.detail !== undefined && { detail: verdict.detail }),
      records: verdict?.records ?? "keep",
      listed: member.listed,
      assured: member.isAssured,
      connections: Object.fromEntries(
        Object.entries(member.feeds ?? {}).map(([resource, { state }]) => [
          resource,
          state?.reason ?? "connecting",
        ]),
      ),
      ...(sight?.uid !== undefined && { uid: sight.uid }),
      ...(region !== undefined && { region }),
      exports: member.records.size,
      slices: member.slices.size,
      refused: metrics.refusedOf(member.id),
    };
  });
}
