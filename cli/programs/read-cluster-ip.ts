import { LABEL_SERVICE_SLICE } from "../../api/keys.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import { field } from "../../api/parse/fields.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { ENDPOINT_SLICES, NAMESPACES, queryOf, SERVICES } from "../../common/kubernetes/kinds.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { failoverRequest } from "../view/cluster-ip.ts";
import type { ClusterIpReading, UnreadPart } from "../view/readings.ts";
import { debugPage, podsOf } from "./pods.ts";
import { unreadOf } from "./unread-of.ts";

/** Reads what explains the ClusterIP of a Service. What cannot be read is in `unread`; rejects with the reason of the signal only. */
export async function readClusterIp(
  cluster: Cluster,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<ClusterIpReading> {
  const { namespace, name } = namesOf(key);
  const unread: UnreadPart[] = [];
  const attempt = async <Value>(what: string, read: Promise<Value>): Promise<Value | undefined> => {
    try {
      return await read;
    } catch (thrown) {
      signal.throwIfAborted();
      unread.push({ what, ...unreadOf(thrown) });
      return undefined;
    }
  };
  const labelSelector = `${LABEL_SERVICE_SLICE}=${name}`;
  const [service, slices = []] = await Promise.all([
    attempt("Service", cluster.objects.get(SERVICES, { namespace, name })),
    attempt("EndpointSlices", cluster.list(queryOf(ENDPOINT_SLICES, { namespace, labelSelector }))),
  ]);
  if (service === undefined) return { slices, unread };
  const own = { service: service.object, slices, unread };
  const isDecided = failoverRequest(key, own).decidedBy !== undefined;
  const whole = isDecided
    ? undefined
    : await attempt("Namespace", cluster.objects.get(NAMESPACES, { name: namespace }));
  const reading = { ...own, ...(whole !== undefined && { namespace: whole.object }) };
  const { failover } = failoverRequest(key, reading);
  if (failover === "declined" || failover === "not-requested") return reading;
  const page = await attempt("the controller's result", leaderPage(cluster, key));
  return { ...reading, ...(page !== undefined && { page }) };
}

/** `/debug` of the controller that leads, with this Service. Rejects with an ApiFault. */
async function leaderPage(cluster: Cluster, key: ObjectKey): Promise<unknown> {
  const pods = await podsOf(cluster, "controller");
  if (pods.length === 0) throw new ApiFault("absent", "there is no pod of it");
  const pages = await Promise.allSettled(
    pods.map((pod) => debugPage(cluster, pod, `?failover=${encodeURIComponent(key)}`)),
  );
  const read = pages.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const leads = read.find((page) => field(page, "leader") === true);
  if (leads !== undefined) return leads;
  const failed = pages.find((one) => one.status === "rejected");
  throw failed?.reason ?? new ApiFault("absent", "no replica leads");
}
