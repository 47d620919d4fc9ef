import { isPartial } from "../../api/reasons.ts";
import { shiftText } from "../../api/shift.ts";
import { UNCONFIRMED } from "../members/removal-confirmation.ts";
import type { Controller } from "../sync/controller.ts";
import type { ClusterView, DebugView, DrainView, FailoverView } from "./debug-view.ts";

/** Services that request ClusterIP failover that the page lists. */
const MOST_FAILOVERS = 100;

/** Rejected parts by reason, of a registry or of the local cluster. */
type RefusedOf = (cluster: string | undefined) => Readonly<Record<string, number>>;

/** Milliseconds of the API server of a cluster's registry. */
type AnswerMsOf = (cluster: string) => number | undefined;

/** The present state, for users; with the failover of one Service, if that is requested. */
export function debugView(
  controller: Controller,
  refusedOf: RefusedOf,
  answerMsOf: AnswerMsOf = () => undefined,
  service?: string | null,
): DebugView {
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
    ...failoversOf(controller, service),
    clusters: clustersOf(controller, refusedOf, answerMsOf),
  };
}

function failoversOf(
  { queue }: Controller,
  only: string | null = null,
): Pick<DebugView, "failover" | "failoverServices"> {
  const all = [...queue.failovers].map(
    ([service, { reason, clusters }]): FailoverView => ({ service, because: reason, clusters }),
  );
  if (all.length === 0) return {};
  const prepared = all.filter(({ clusters }) => clusters.length > 0).length;
  const shown = only === null ? all : all.filter(({ service }) => service === only);
  const isWhole = ({ because, clusters }: FailoverView) =>
    Number(clusters.length > 0 && !isPartial(because));
  return {
    failoverServices: { requested: all.length, prepared },
    failover: shown.sort((a, b) => isWhole(a) - isWhole(b)).slice(0, MOST_FAILOVERS),
  };
}

function clustersOf(
  { members }: Controller,
  refusedOf: RefusedOf,
  answerMsOf: AnswerMsOf,
): ClusterView[] {
  return [...members].map((member): ClusterView => {
    const state = members.state(member.id);
    const { isGiven, except } = state?.confirmation ?? UNCONFIRMED;
    const silence = members.silence(member.id);
    const answerMs = answerMsOf(member.id);
    const { region, version } = member.lease?.cluster ?? {};
    return {
      cluster: member.id,
      state: state?.lease.status.state ?? "alive",
      because: state?.lease.status.reason ?? "awaited",
      ...(silence !== undefined && { silentSeconds: Math.floor(silence / 1000) }),
      ...(answerMs !== undefined && { answerMs: Math.round(answerMs * 10) / 10 }),
      verdict: state?.verdict.reason ?? "not-introduced",
      ...(state?.verdict.detail !== undefined && { detail: state.verdict.detail }),
      records: state?.verdict.records ?? "keep",
      listed: member.listed,
      assured: isGiven,
      ...(isGiven && except.size > 0 && { assuredExcept: [...except] }),
      connections: Object.fromEntries(
        Object.entries(member.registry.informers ?? {}).map(([resource, { state }]) => [
          resource,
          state?.reason ?? "connecting",
        ]),
      ),
      ...drainsOf(members, member.id),
      ...(state?.uid !== undefined && { uid: state.uid }),
      ...(region !== undefined && { region }),
      ...(version !== undefined && { version }),
      exports: member.records.size,
      slices: member.slices.size,
      refused: refusedOf(member.id),
    };
  });
}

function drainsOf(members: Controller["members"], id: string) {
  const all = members.drains(id).map(
    ({ phase, from, until, by, reason, where }): DrainView => ({
      ...{ phase, from: new Date(from).toISOString(), until: new Date(until).toISOString() },
      ...(by !== undefined && { by }),
      ...(reason !== undefined && { reason }),
      object: where,
    }),
  );
  const { shift } = members.rotation(id);
  return {
    ...(members.state(id)?.drain !== undefined && { drained: "drained" as const }),
    ...(all.length > 0 && { drains: all }),
    ...(shift !== undefined && { shift: shiftText(shift) }),
  };
}
