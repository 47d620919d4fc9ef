import { field, textField } from "../../api/parse/fields.ts";
import { ApiFault, reasonOfStatus } from "../../common/kubernetes/api-fault.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { MOST_BYTES, type Page } from "./page.ts";
import type { PodPort } from "./port-forward.ts";

/** Milliseconds without data in a page. */
const SILENCE_MS = 15_000;

/**
 * A page by the API server's proxy, which connects to the pod's address: for agents that serve their pages on the node's address, where
 * a port-forward finds nothing (deploy/components/metrics). Rejects with an ApiFault.
 */
export async function proxiedPage(
  api: ApiServer,
  { namespace, pod, port }: PodPort,
  path: string,
  signal: AbortSignal,
): Promise<Page> {
  const pods = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const target = `${pods}/${encodeURIComponent(pod)}:${port}/proxy${path}`;
  const response = await api.request({ path: target, signal, silence: SILENCE_MS });
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body) {
    parts.push(part);
    length += part.length;
    if (length > MOST_BYTES) throw new ApiFault("garbage", "The page is too long");
  }
  const text = Buffer.concat(parts).toString("utf8");
  const own = ownStatus(text);
  if (own !== undefined) {
    const message = `pods/proxy: HTTP ${response.status}: ${textField(own, "message") ?? ""}`;
    throw new ApiFault(reasonOfStatus(response.status), message);
  }
  return { status: response.status, text };
}

/** The API server's own answer, if it is one: no page of a program has such an object. */
function ownStatus(text: string): unknown {
  if (!text.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return field(value, "kind") === "Status" ? value : undefined;
  } catch {
    return undefined;
  }
}
