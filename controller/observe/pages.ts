import { type Check, check, checksReply } from "../../common/checks.ts";
import type { Route } from "../../common/http.ts";
import type { Controller } from "../sync/controller.ts";
import { debugView, levelsOf } from "./debug.ts";
import type { ControllerMetrics } from "./metrics.ts";

/** Milliseconds: a change that is older than that is not on its way, but does not get through. */
const LONGEST_WAIT = 60_000;

/** The controller's pages. All are read-only, and none has a side effect. */
export function pages(controller: Controller, metrics: ControllerMetrics): Route[] {
  return [
    // An event loop that hangs does not answer; everything else has a time that it ends after.
    { path: "/livez", answer: ({ query }) => checksReply("livez", [], query) },
    {
      path: "/readyz",
      answer: ({ query }) =>
        checksReply("readyz", readiness(controller), query, remarks(controller, metrics)),
    },
    {
      path: "/metrics",
      answer: async () => ({
        status: 200,
        type: metrics.contentType,
        body: await metrics.text(levelsOf(controller, metrics)),
      }),
    },
    {
      path: "/debug",
      answer: () => ({
        status: 200,
        type: "application/json; charset=utf-8",
        body: `${JSON.stringify(debugView(controller, metrics), undefined, 2)}\n`,
      }),
    },
  ];
}

/**
 * Whether this replica does what it should. Waiting for another one to fail is being ready. That a peer is away fails
 * nothing: it says so on /debug, and a restart would find the same peer.
 */
export function readiness(controller: Controller): Check[] {
  const { elector, listed, whoWeAre, queue } = controller;
  const fault = whoWeAre?.reason;
  return [
    check("own-cluster", listed, "not-listed"),
    ...(fault === undefined || fault === "identified"
      ? [check("identity", fault !== undefined, "not-listed")]
      : [{ name: "identity", reason: fault }]),
    // Who has never seen the Lease of the election cannot take over either.
    check("election", elector.state !== undefined, "not-listed"),
    check("tasks", queue.oldest <= LONGEST_WAIT, "task-waiting"),
  ];
}

/** One line for each cluster: `[-]cluster-c2 stale: lease-silent`. */
function remarks(controller: Controller, metrics: ControllerMetrics): string[] {
  return debugView(controller, metrics).clusters.map(
    ({ cluster, state, because, verdict, listed }) => {
      const isWell = state === "alive" && verdict === "member" && listed;
      const heard = listed ? "" : ", not listed yet";
      return `[${isWell ? "+" : "-"}]cluster-${cluster} ${state} (${because}), ${verdict}${heard}`;
    },
  );
}
