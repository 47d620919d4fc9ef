import type { Controller } from "../sync/controller.ts";
import type { ClusterView, DebugView } from "./debug-view.ts";

/** Rejected parts by reason, of a registry or of the local cluster. */
type RefusedOf = (cluster: string | undefined) => Readonly<Record<string, number>>;

/** The present state, for users. */
export function debugView(controller: Controller, refusedOf: RefusedOf): DebugView {
  const { local, permission } = controller;
  const { identity } = controller.identity;
  const { depth, working, failing } = controller.queue.tasks;
  const { elector, isGranted, lacks } = permission;
  const holder = elector.state?.holder;
  return {
    ...(identity !== undefined && { identity }),
    leader: elector.isLeader(),
    ...(holder !== undefined && { holder }),
    working: isGranted,
    ...(lacks !== undefined && { because: lacks }),
    imports: local.stores.imports.size,
    refused: refusedOf(undefined),
    heldBack: local.hold.heldBack,
    queue: { waiting: depth, working, failing },
    clusters: clustersOf(controller, refusedOf),
  };
}

function clustersOf({ members }: Controller, refusedOf: RefusedOf): ClusterView[] {
  return [...members].map((member): ClusterView => {
    const status = members.status(member.id);
    const verdict = members.verdict(member.id);
    const { region, version } = member.lease?.cluster ?? {};
    return {
      cluster: member.id,
      state: status?.state ?? "alive",
      because: status?.reason ?? "awaited",
      verdict: verdict?.reason ?? "not-introduced",
      ...(verdict?.detail !== undefined && { detail: verdict.detail }),
      records: verdict?.records ?? "keep",
      listed: member.listed,
      assured: member.isConfirmed,
      connections: Object.fromEntries(
        Object.entries(member.registry.informers ?? {}).map(([resource, { state }]) => [
          resource,
          state?.reason ?? "connecting",
        ]),
      ),
      ...(status?.uid !== undefined && { uid: status.uid }),
      ...(region !== undefined && { region }),
      ...(version !== undefined && { version }),
      exports: member.records.size,
      slices: member.slices.size,
      refused: refusedOf(member.id),
    };
  });
}
