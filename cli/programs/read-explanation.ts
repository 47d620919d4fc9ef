import type { HeldPort } from "../../agent/backends/backend.ts";
import type { ImportPlan } from "../../agent/plan/import-plan.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import { field } from "../../api/parse/fields.ts";
import { SERVICE_EXPORTS } from "../../common/kubernetes/kinds.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { jsonOf } from "../view/agent-status.ts";
import type { AgentPages } from "../view/explanation.ts";
import type { Unread } from "../view/readings.ts";
import { conditionOf } from "../view/status.ts";
import { lookUp } from "./cluster-dns.ts";
import { agentPage, isMissingPage, type ProgramPod, pageOf } from "./pods.ts";
import { unreadOf } from "./unread-of.ts";

/** The domain of names of ServiceImports (KEP-1645). */
const DOMAIN = "svc.clusterset.local";

/** The plan of a node's agent, and what its kernel holds. Rejects with the reason of the signal only. */
export async function agentPages(
  cluster: Cluster,
  pod: ProgramPod | undefined,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<AgentPages> {
  if (pod === undefined) {
    const none: Unread = { reason: "absent", detail: "the node has no agent" };
    return { plan: none, held: none };
  }
  const page = async <Value>(path: string, check: (value: unknown) => value is Value) => {
    try {
      const text = await pageOf(cluster, pod, path);
      const value = jsonOf(text);
      if (check(value)) return value;
      if (isMissingPage(text)) {
        return { reason: "not-served", detail: `an agent of this release has no ${path}` } as const;
      }
      // A page of another release, or an error in words.
      return { reason: "garbage", detail: `${path}: ${text.slice(0, 200).trim()}` } as const;
    } catch (thrown) {
      signal.throwIfAborted();
      return unreadOf(thrown);
    }
  };
  const plan = await page(`/plan/${key}`, isPlan);
  const held = await page(`/kernel/${key}`, isHeld);
  return { plan, held: "held" in held ? held.held : held };
}

/**
 * What the node lacks, as sentences: what failure detection does not see (clusters that its probes do not reach, its uplink, or evidence that it
 * does not get), and failing preflight checks. None without a page: then the plan is not known either, and says why. Rejects with the reason of the signal only.
 */
export async function nodeRemarks(
  cluster: Cluster,
  pod: ProgramPod | undefined,
  signal: AbortSignal,
): Promise<string[]> {
  if (pod === undefined) return [];
  try {
    const { checks } = await agentPage(cluster, pod);
    const remarkable = checks.filter(({ name, state, reason }) =>
      name === "health"
        ? state !== "ok" && reason !== "unanswering"
        : name.startsWith("preflight-") && state === "failing",
    );
    return remarkable.map(({ reason, detail }) =>
      [`Agent of ${pod.node}`, reason ?? [], detail ?? []].flat().join(": "),
    );
  } catch {
    signal.throwIfAborted();
    return [];
  }
}

/** Conditions of an import's exports that report a problem, in all contexts, as sentences. */
export async function exportRemarks(
  clusters: readonly Cluster[],
  key: ObjectKey,
  signal: AbortSignal,
): Promise<string[]> {
  const found = await Promise.all(
    clusters.map(async (cluster) => {
      try {
        const one = await cluster.objects.get(SERVICE_EXPORTS, namesOf(key));
        return one === undefined ? [] : problemsOf(cluster.context, one.object);
      } catch (thrown) {
        signal.throwIfAborted();
        const { reason, detail } = unreadOf(thrown);
        return [`ServiceExport in ${cluster.context}: not known, ${reason}, ${detail}`];
      }
    }),
  );
  return found.flat();
}

/** Conditions that report a problem, and what is not published of an export that is ready. */
function problemsOf(context: string, object: unknown): string[] {
  const types = ["Valid", "Ready", "Conflict"];
  const about = `ServiceExport in ${context}`;
  if (types.every((type) => conditionOf(object, type) === undefined)) {
    return [`${about}: Pending, it has no condition: no controller has processed it`];
  }
  return types.flatMap((type) => {
    const found = conditionOf(object, type);
    const isGood = found === undefined || (found.status === "True") === (type !== "Conflict");
    const isWhole = found === undefined || !/ Left out: /.test(found.message);
    return isGood && isWhole ? [] : [`${about}: ${found?.reason}, ${found?.message}`];
  });
}

/** Where the import's name points, by the cluster's DNS. */
export async function dnsOf(
  cluster: Cluster,
  key: ObjectKey,
  vips: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const { namespace, name } = namesOf(key);
  const full = `${name}.${namespace}.${DOMAIN}`;
  const types = (["A", "AAAA"] as const).filter((type) =>
    vips.some((vip) => vip.includes(":") === (type === "AAAA")),
  );
  if (types.length === 0) return `${full}, which resolves to the endpoints`;
  try {
    const { addresses, codes } = await lookUp(cluster, full, types, signal);
    const same = addresses.join() === [...vips].sort().join();
    const text = addresses.length === 0 ? codes.join(", ") || "no address" : addresses.join(", ");
    return `${full} is ${text}${same ? "" : `: not as the import, ${vips.join(", ")}`}`;
  } catch (thrown) {
    signal.throwIfAborted();
    const { reason, detail } = unreadOf(thrown);
    return `${full}, by the import; CoreDNS was not asked: ${reason}, ${detail}`;
  }
}

function isPlan(value: unknown): value is ImportPlan {
  return ["vips", "services", "excluded"].every((name) => Array.isArray(field(value, name)));
}

function isHeld(value: unknown): value is { held: HeldPort[] } {
  return Array.isArray(field(value, "held"));
}
