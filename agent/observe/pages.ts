import { isLabelName, type ObjectKey, objectKey } from "../../api/names.ts";
import { checksReply } from "../../common/checks.ts";
import type { Clock } from "../../common/clock.ts";
import { orList } from "../../common/config/values.ts";
import { plainText, type Reply, type Request, type Route } from "../../common/http.ts";
import type { DestinationCount } from "../backends/backend.ts";
import { OUTPUTS, type Output } from "../config/flags.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import { type Verdict, verdictLine } from "../preflight/verdict.ts";
import { planDocument, planText } from "./plan-document.ts";
import { type AgentState, liveness, readiness } from "./readiness.ts";

/** Where the pages take what they show from. */
export interface PageSources {
  readonly clock: Pick<Clock, "now">;
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  state(): AgentState;
  /** What the last look at the node found. */
  verdicts(): readonly Verdict[];
  /** Lines about the sources for `/readyz?verbose`. */
  remarks?(): readonly string[];
  /** Every import that anything is known of, in order. */
  keys(): Iterable<ObjectKey>;
  /** The plan of one import as of now; undefined if nothing is known of it. */
  plan(key: ObjectKey): ImportPlan | undefined;
  /** What the kernel counts for it; undefined if it counts nothing. */
  counts?(key: ObjectKey): Promise<readonly DestinationCount[] | undefined>;
}

/** The agent's pages. All are read-only, and none has a side effect. */
export function pages(from: PageSources): Route[] {
  return [
    {
      path: "/livez",
      answer: ({ query }) => checksReply("livez", liveness(from.state(), from.clock.now()), query),
    },
    {
      path: "/readyz",
      answer: ({ query }) => {
        const checks = readiness(from.state(), from.clock.now());
        const remarks = [...(from.remarks?.() ?? []), ...from.verdicts().map(verdictLine)];
        return checksReply("readyz", checks, query, remarks);
      },
    },
    {
      path: "/metrics",
      answer: async () => {
        const body = await from.metrics.text();
        return { status: 200, type: from.metrics.contentType, body };
      },
    },
    { path: "/plan", answer: ({ query }) => allPlans(from, query) },
    { path: "/plan/:namespace/:name", answer: (request) => onePlan(from, request) },
  ];
}

function allPlans(from: PageSources, query: URLSearchParams): Reply {
  const output = outputOf(query);
  if (output === undefined) return wrongOutput(query);
  return document(output, planDocument(plansOf(from), output));
}

/** Each import as it is when its turn comes: one that vanished meanwhile is left out. */
function* plansOf(from: PageSources): Generator<ImportPlan> {
  for (const key of from.keys()) {
    const plan = from.plan(key);
    if (plan !== undefined) yield plan;
  }
}

async function onePlan(from: PageSources, { parts, query }: Request): Promise<Reply> {
  const output = outputOf(query);
  if (output === undefined) return wrongOutput(query);
  const [namespace = "", name = ""] = parts;
  if (!isLabelName(namespace) || !isLabelName(name)) {
    return plainText(400, "Not names of a namespace and of an import: /plan/NAMESPACE/NAME.\n");
  }
  const key = objectKey(namespace, name);
  const plan = from.plan(key);
  if (plan === undefined) {
    const what = "neither a ServiceImport nor an EndpointSlice that belongs to one";
    return plainText(404, `Nothing is known of ${namespace}/${name}: ${what}.\n`);
  }
  // Whatever the kernel says, the plan is shown.
  const counts = await from.counts?.(key).catch(() => undefined);
  return document(output, planText({ ...plan, ...(counts && { counts }) }, output));
}

function outputOf(query: URLSearchParams): Output | undefined {
  const asked = query.get("output") ?? "json";
  return OUTPUTS.find((output) => output === asked);
}

function wrongOutput(query: URLSearchParams): Reply {
  const given = JSON.stringify(query.get("output"));
  return plainText(400, `output=${given}: expected ${orList(OUTPUTS)}.\n`);
}

function document(output: Output, body: string | Iterable<string>): Reply {
  const type = output === "yaml" ? "application/yaml" : "application/json";
  return { status: 200, type: `${type}; charset=utf-8`, body };
}
