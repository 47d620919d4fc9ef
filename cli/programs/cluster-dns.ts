import type { Duplex } from "node:stream";
import { type Answer, streamDecode, streamEncode } from "dns-packet";
import { field, fieldAt, isFields, textField } from "../../api/parse/fields.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { PODS, queryOf, SERVICES } from "../../common/kubernetes/kinds.ts";
import type { Cluster } from "../clusters/cluster.ts";

/** The namespace of the cluster's DNS, and the Service that kubelets name as it. */
const DNS = { namespace: "kube-system", name: "kube-dns" };
/** Of its pods: kubeadm and most distributions, then CoreDNS's own chart. */
const LABELS = ["k8s-app=kube-dns", "app.kubernetes.io/name=coredns", "k8s-app=coredns"];
const PORT = 53;
/** Milliseconds for both answers. */
const ANSWER_MS = 5000;
/** A DNS message is at most so long, with its length before it. */
const LONGEST = 65_537;

/** The addresses that a cluster's DNS has for a name, sorted, and its response codes other than NOERROR. Rejects with an ApiFault. */
export async function lookUp(
  cluster: Cluster,
  name: string,
  types: readonly ("A" | "AAAA")[],
  signal: AbortSignal,
): Promise<{ addresses: string[]; codes: string[] }> {
  const of = await podOfDns(cluster);
  const within = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
  const found = await Promise.all(
    types.map(async (type) => {
      const port = { namespace: DNS.namespace, pod: of, port: PORT };
      const connection = await cluster.connect(port, within);
      try {
        return await ask(connection, name, type);
      } finally {
        connection.destroy();
      }
    }),
  ).catch((thrown: unknown) => {
    signal.throwIfAborted();
    if (within.aborted) throw new ApiFault("stalled", `no answer within ${ANSWER_MS / 1000} s`);
    throw thrown;
  });
  const codes = found.flatMap(({ code }) => (code === "NOERROR" ? [] : [code]));
  return { addresses: found.flatMap((one) => one.addresses).sort(), codes: [...new Set(codes)] };
}

/** The name of a pod: by its labels, else by the selector of the Service, for which the user may lack the right. */
async function podOfDns({ list, objects }: Pick<Cluster, "list" | "objects">): Promise<string> {
  const namedBy = async (labelSelector: string): Promise<string | undefined> => {
    const [pod] = await list(queryOf(PODS, { namespace: DNS.namespace, labelSelector }));
    return textField(field(pod, "metadata"), "name");
  };
  for (const labels of LABELS) {
    const name = await namedBy(labels);
    if (name !== undefined) return name;
  }
  const service = await objects.get(SERVICES, DNS);
  const selector = fieldAt(service?.object, "spec", "selector");
  const pairs = Object.entries(isFields(selector) ? selector : {});
  const name =
    pairs.length === 0
      ? undefined
      : await namedBy(pairs.map(([key, value]) => `${key}=${String(value)}`).join());
  if (name !== undefined) return name;
  const none = `no pod of ${DNS.namespace} has one of ${LABELS.join(", ")}, or the selector of the Service ${DNS.name}`;
  throw new ApiFault("absent", none);
}

async function ask(connection: Duplex, name: string, type: "A" | "AAAA") {
  // With recursion desired, as resolvers of pods ask.
  const flags = 0x100;
  connection.write(streamEncode({ type: "query", id: 1, flags, questions: [{ type, name }] }));
  let message = Buffer.alloc(0);
  for await (const part of connection) {
    message = Buffer.concat([message, part as Buffer]);
    if (message.length >= 2 && message.length >= 2 + message.readUInt16BE(0)) break;
    if (message.length > LONGEST) break;
  }
  const answer = decoded(message);
  const addresses = answer.answers?.flatMap((one: Answer) => (one.type === type ? [one.data] : []));
  return { addresses: (addresses ?? []) as string[], code: answer.rcode };
}

/** The library's types lack the response code. */
function decoded(message: Buffer): { answers?: Answer[]; rcode: string } {
  try {
    return streamDecode(message) as unknown as { answers?: Answer[]; rcode: string };
  } catch (cause) {
    throw new ApiFault("garbage", "not a DNS message", { cause });
  }
}
