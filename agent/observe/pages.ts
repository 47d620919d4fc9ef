import type { AgentPage, NodeCheck } from "../../api/agent-page.ts";
import { isLabelName, type ObjectKey, objectKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import { tierRank } from "../../api/tiers/tiers.ts";
import { checksReply, remarkLine } from "../../common/checks.ts";
import type { Clock } from "../../common/clock.ts";
import { orList } from "../../common/config/values.ts";
import { plainText, type Reply, type Request, type Route } from "../../common/http.ts";
import { VERSION } from "../../common/version.ts";
import type { DestinationCount, HeldPort } from "../backends/backend.ts";
import { OUTPUTS, type Output } from "../config/flags.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import { type Finding, findingCheck } from "../preflight/finding.ts";
import { planDocument, planText } from "./plan-document.ts";
import { type AgentState, liveness, readiness } from "./readiness.ts";
import { isServed, nearnessOf } from "./tier-page.ts";

/** What the pages show. */
export interface PageSources {
  readonly clock: Pick<Clock, "now">;
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  readonly agent: AgentState & {
    /** The keys of all imports, in order. */
    keys(): Iterable<ObjectKey>;
    /** The present plan of one import; undefined if there is no such import. */
    plan(key: ObjectKey): ImportPlan | undefined;
    /** The kernel's connection counters for it; undefined if the backend has none. */
    counts(key: ObjectKey): Promise<readonly DestinationCount[] | undefined>;
    /** What the kernel holds for it. */
    held(key: ObjectKey): Promise<readonly HeldPort[]>;
  };
  /** Milliseconds of the longest timeout of a tool that is running; 0 if none is. */
  toolTimeout(): number;
  /** Why a source has not listed, if known. */
  unlisted(): Reason | undefined;
  /** The findings of the last preflight. */
  findings(): readonly Finding[];
  /** Remarks on the backend, the sources, and what observes connections. */
  remarks(): readonly NodeCheck[];
  /** Name of the backend. */
  readonly backend: string;
}

/** The agent's pages; all are read-only. */
export function pages(from: PageSources): Route[] {
  return [
    {
      path: "/livez",
      probe: true,
      answer: ({ query }) => {
        const checks = liveness(from.agent, from.clock.now(), from.toolTimeout());
        return checksReply("livez", checks, query);
      },
    },
    {
      path: "/readyz",
      probe: true,
      answer: ({ query }) => {
        const checks = readiness(from.agent, from.clock.now(), from.unlisted());
        return checksReply("readyz", checks, query, remarksOf(from).map(remarkLine));
      },
    },
    { path: "/status", answer: () => document("json", `${JSON.stringify(statusOf(from))}\n`) },
    {
      path: "/metrics",
      answer: async () => {
        const body = await from.metrics.text();
        return { status: 200, type: from.metrics.contentType, body };
      },
    },
    { path: "/plan", answer: ({ query }) => allPlans(from, query) },
    { path: "/plan/:namespace/:name", answer: (request) => onePlan(from, request) },
    { path: "/kernel/:namespace/:name", answer: (request) => heldBy(from, request) },
    { path: "/tier/:namespace/:name", answer: (request) => tierInUse(from, request) },
  ];
}

function remarksOf(from: PageSources): NodeCheck[] {
  return [...from.remarks(), ...from.findings().map(findingCheck)];
}

/** What `kubectl clusterset` reads. */
function statusOf(from: PageSources): AgentPage {
  const now = from.clock.now();
  const waits = [...from.agent.families.values()].map(
    ({ oldestWaiting = now }) => now - oldestWaiting,
  );
  const checks = readiness(from.agent, now, from.unlisted()).map(
    ({ name, reason }): NodeCheck =>
      reason === undefined ? { name, state: "ok" } : { name, state: "failing", reason },
  );
  return {
    ...{ version: VERSION, backend: from.backend },
    oldestChangeSeconds: Math.max(0, ...waits) / 1000,
    checks: [...checks, ...remarksOf(from)],
  };
}

function allPlans(from: PageSources, query: URLSearchParams): Reply {
  const output = outputOf(query);
  if (output === undefined) return wrongOutput(query);
  return document(output, planDocument(plansOf(from), output));
}

/** An import that is deleted while the document is written is left out. */
function* plansOf({ agent }: PageSources): Generator<ImportPlan> {
  for (const key of agent.keys()) {
    const plan = agent.plan(key);
    if (plan !== undefined) yield plan;
  }
}

async function onePlan(from: PageSources, { parts, query }: Request): Promise<Reply> {
  const output = outputOf(query);
  if (output === undefined) return wrongOutput(query);
  const key = keyOf(parts);
  if (key === undefined) return wrongName("/plan");
  const plan = from.agent.plan(key);
  if (plan === undefined) return unknown(key);
  // Not logged: a reader may reload the page every second. The plan is complete without the counters, and the reconciler reports a kernel that cannot be read.
  const counts = await from.agent.counts(key).catch(() => undefined);
  return document(output, planText({ ...plan, ...(counts && { counts }) }, output));
}

/** What the kernel holds for one import, read for this request. */
async function heldBy(from: PageSources, { parts }: Request): Promise<Reply> {
  const key = keyOf(parts);
  if (key === undefined) return wrongName("/kernel");
  if (from.agent.plan(key) === undefined) return unknown(key);
  try {
    const held = await from.agent.held(key);
    return document("json", `${JSON.stringify({ importKey: key, held }, undefined, 2)}\n`);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return plainText(503, `The kernel cannot be read: ${why}\n`);
  }
}

/** The tier from which an import is served here, for health checks of what is in front of the cluster: 503 if none, or one farther than `within`. */
function tierInUse(from: PageSources, { parts, query }: Request): Reply {
  const key = keyOf(parts);
  if (key === undefined) return wrongName("/tier");
  const within = tierRank(query.get("within") ?? "global");
  if (within === undefined) {
    const given = JSON.stringify(query.get("within"));
    return plainText(400, `within=${given}: expected ${orList(TIERS)}.\n`);
  }
  if (!from.agent.listed) return plainText(503, "not-listed\n");
  const plan = from.agent.plan(key);
  const nearness = plan && nearnessOf(plan, query.get("port") ?? undefined);
  if (nearness === undefined) return unknown(key);
  const reply = document("json", `${JSON.stringify(nearness)}\n`);
  return { ...reply, status: isServed(nearness, within) ? 200 : 503 };
}

/** Values of `within`. */
const TIERS = ["local", "regional", "global", "selector-N", "remainder"];

function keyOf([namespace = "", name = ""]: readonly string[]): ObjectKey | undefined {
  return isLabelName(namespace) && isLabelName(name) ? objectKey(namespace, name) : undefined;
}

function wrongName(page: string): Reply {
  const expected = `expected ${page}/NAMESPACE/NAME`;
  return plainText(400, `Invalid namespace or name of an import: ${expected}.\n`);
}

function unknown(key: ObjectKey): Reply {
  const what = "neither a ServiceImport nor an EndpointSlice that belongs to one";
  return plainText(404, `Nothing is known of ${key}: ${what}.\n`);
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
