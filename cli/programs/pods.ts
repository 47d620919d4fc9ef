import type { AgentPage } from "../../api/agent-page.ts";
import { field, fieldAt, textField } from "../../api/parse/fields.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { PODS, queryOf } from "../../common/kubernetes/kinds.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { ClusterFault } from "../clusters/cluster-fault.ts";
import { INSTALL_NAMESPACE } from "../install/workloads.ts";
import { jsonOf, parseAgentPage } from "../view/agent-status.ts";
import type { Unread } from "../view/readings.ts";

/** Programs that run in pods, and the ports of their pages (deploy/base). */
export const PROGRAMS = {
  agent: { label: "clusterset-agent", port: 10_269 },
  controller: { label: "clusterset-controller", port: 10_270 },
} as const;
/** One of `PROGRAMS`. */
export type Program = keyof typeof PROGRAMS;

/** A pod of a program. */
export interface ProgramPod {
  readonly program: Program;
  readonly name: string;
  /** Absent while it is not scheduled. */
  readonly node?: string;
  readonly ready: boolean;
  /** Why it is not ready, as Kubernetes reports it, such as `ImagePullBackOff`. */
  readonly detail?: string;
}

/** The pods of a program, by name. Rejects with an ApiFault. */
export async function podsOf(cluster: Cluster, program: Program): Promise<ProgramPod[]> {
  const pods = await cluster.list(
    queryOf(PODS, {
      namespace: INSTALL_NAMESPACE,
      labelSelector: `app.kubernetes.io/name=${PROGRAMS[program].label}`,
    }),
  );
  return pods.map((pod) => podOf(program, pod)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A page of the program in a pod, whatever its status is. Rejects with an ApiFault. */
export async function pageOf(
  cluster: Cluster,
  { program, name }: Pick<ProgramPod, "program" | "name">,
  path: string,
): Promise<string> {
  const { port } = PROGRAMS[program];
  const page = await cluster.page({ namespace: INSTALL_NAMESPACE, pod: name, port }, path);
  return page.text;
}

/** `/status` of an agent. Rejects with an ApiFault; `not-served`: the agent is of a release before that page. */
export async function agentPage(
  cluster: Cluster,
  pod: Pick<ProgramPod, "program" | "name">,
): Promise<AgentPage> {
  const text = await pageOf(cluster, pod, "/status");
  const page = parseAgentPage(text);
  if (page !== undefined) return page;
  if (isMissingPage(text))
    throw new ApiFault(
      "not-served",
      "the agent has no /status: it is of 0.2.0 or earlier. Upgrade it",
    );
  throw new ApiFault("garbage", `/status: ${text.slice(0, 200).trim()}`);
}

/** True for the answer of a program that has no such page. PURE. */
export function isMissingPage(text: string): boolean {
  return text.startsWith("Not found.");
}

/** `/debug` of a controller; `query` such as `?failover=shop/web`. Rejects with an ApiFault. */
export async function debugPage(
  cluster: Cluster,
  pod: Pick<ProgramPod, "program" | "name">,
  query = "",
): Promise<unknown> {
  const text = await pageOf(cluster, pod, `/debug${query}`);
  const page = jsonOf(text);
  if (page !== undefined) return page;
  throw new ApiFault("garbage", `/debug: ${text.slice(0, 200).trim()}`);
}

function podOf(program: Program, pod: unknown): ProgramPod {
  const node = textField(field(pod, "spec"), "nodeName");
  const conditions = fieldAt(pod, "status", "conditions");
  const ready =
    Array.isArray(conditions) &&
    conditions.some((one) => field(one, "type") === "Ready" && field(one, "status") === "True");
  const detail = ready ? undefined : waitingOf(pod);
  return {
    program,
    name: textField(field(pod, "metadata"), "name") ?? "",
    ready,
    ...(node !== undefined && { node }),
    ...(detail !== undefined && { detail }),
  };
}

function waitingOf(pod: unknown): string | undefined {
  const statuses = fieldAt(pod, "status", "containerStatuses");
  const reasons = (Array.isArray(statuses) ? statuses : []).flatMap(
    (one) => textField(fieldAt(one, "state", "waiting"), "reason") ?? [],
  );
  return (
    reasons[0] ??
    textField(field(pod, "status"), "reason") ??
    textField(field(pod, "status"), "phase")
  );
}

/** Why a read failed, as commands show it. */
export function unreadOf(thrown: unknown): Unread {
  if (thrown instanceof ClusterFault) return { reason: thrown.reason, detail: thrown.detail };
  if (thrown instanceof ApiFault) return { reason: thrown.reason, detail: thrown.message };
  return { reason: "garbage", detail: thrown instanceof Error ? thrown.message : String(thrown) };
}
