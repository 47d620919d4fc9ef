import { type Check, check, checksReply } from "../../common/checks.ts";
import type { Route } from "../../common/http.ts";
import type { Controller } from "../sync/controller.ts";
import type { AnswerTimes } from "./answer-times.ts";
import type { CredentialExpiries } from "./credential-expiries.ts";
import { debugView } from "./debug.ts";
import type { ClusterView } from "./debug-view.ts";
import type { ControllerMetrics } from "./metrics.ts";

/** Milliseconds after which a queued task counts as stuck. */
const LONGEST_WAIT = 60_000;

/** The controller's pages, all without side effects. */
export function pages(
  controller: Controller,
  metrics: ControllerMetrics,
  expiries: Pick<CredentialExpiries, "report">,
  answers: AnswerTimes,
): Route[] {
  const answerMsOf = (cluster: string) =>
    answers.median(cluster, cluster === controller.identity.identity?.id);
  const view = (service?: string | null) =>
    debugView(controller, (cluster) => metrics.refusedOf(cluster), answerMsOf, service);
  return [
    // A blocked event loop does not answer; everything else has a timeout.
    { path: "/livez", probe: true, answer: ({ query }) => checksReply("livez", [], query) },
    {
      path: "/readyz",
      probe: true,
      answer: ({ query }) =>
        checksReply("readyz", readiness(controller), query, view().clusters.map(remarkOf)),
    },
    {
      path: "/metrics",
      answer: async () => {
        expiries.report();
        metrics.set(view(), controller.oldestChange / 1000);
        return { status: 200, type: metrics.contentType, body: await metrics.text() };
      },
    },
    {
      path: "/debug",
      answer: ({ query }) => ({
        status: 200,
        type: "application/json; charset=utf-8",
        body: `${JSON.stringify(view(query.get("failover")), undefined, 2)}\n`,
      }),
    },
  ];
}

/**
 * Whether this replica is ready. A standby replica is. An unreachable peer does not matter: a restart would not help.
 */
export function readiness(controller: Controller): Check[] {
  const { identity, local, permission, queue } = controller;
  const fault = identity.state?.reason;
  return [
    check("own-cluster", local.informers.listed, "not-listed"),
    ...(fault === undefined || fault === "identified"
      ? [check("identity", fault !== undefined, "not-listed")]
      : [{ name: "identity", reason: fault }]),
    // A replica that has never seen the election Lease cannot take over.
    check("election", permission.elector.state !== undefined, "not-listed"),
    // Not those that fail or hang: a quota or a webhook of one namespace takes no controller out of service.
    check("tasks", queue.tasks.stuckFor <= LONGEST_WAIT, "task-waiting"),
  ];
}

/** `[-]cluster-c2 stale (lease-silent), member`. */
function remarkOf({ cluster, state, because, verdict, listed }: ClusterView): string {
  const isWell = state === "alive" && verdict === "member" && listed;
  const note = listed ? "" : ", not listed yet";
  return `[${isWell ? "+" : "-"}]cluster-${cluster} ${state} (${because}), ${verdict}${note}`;
}
