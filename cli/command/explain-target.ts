import { InvalidArgumentError } from "commander";
import { isAddress, parseAddress } from "../../api/address.ts";
import { type ObjectKey, objectKey } from "../../api/names.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { PODS } from "../../common/kubernetes/kinds.ts";
import type { AgentFacts } from "../agents/facts.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { objectReference } from "../command-line.ts";
import type { ProgramPod } from "../programs/pods.ts";

/** What is to be explained: an import, or an address that may be one's; and one of its ports. */
export interface Target {
  readonly key?: ObjectKey;
  readonly address?: string;
  /** Name or number. */
  readonly port?: string;
}

/** The import that has a VIP, or lists it. */
export function importOf(address: string, { holders, imports }: AgentFacts): ObjectKey | undefined {
  const holder = holders.get(address);
  if (holder !== undefined && imports.has(holder)) return holder;
  const lists = [...imports.values()].find(({ vips }) => vips.some(({ text }) => text === address));
  return lists?.key;
}

/** The node to explain for. */
export async function nodeOf(
  cluster: Cluster,
  from: string | undefined,
  { nodes }: AgentFacts,
  agents: readonly ProgramPod[],
): Promise<string> {
  if (from === undefined) {
    const ready = agents.filter((one) => one.ready).map(({ node = "" }) => node);
    return ready.sort()[0] ?? [...nodes.keys()].sort()[0] ?? "";
  }
  if (nodes.has(from)) return from;
  const [namespace = "", name, ...rest] = from.split("/");
  if (name === undefined || rest.length > 0)
    throw new InvalidArgumentError(
      `--from ${from}: there is no such Node; a pod is NAMESPACE/POD.`,
    );
  const pod = await cluster.objects.get(PODS, { namespace, name });
  const node = fieldAt(pod?.object, "spec", "nodeName");
  if (typeof node !== "string") {
    const what = pod === undefined ? "there is no such pod" : "the pod has no node yet";
    throw new InvalidArgumentError(`--from ${from}: ${what}.`);
  }
  return node;
}

/** `shop/web`, `shop/web:http`, `241.0.0.1`, `241.0.0.1:80`, `fd00::1` or `[fd00::1]:80`. */
export function targetOf(text: string, namespace: string | undefined): Target {
  const whole = parseAddress(text);
  if (isAddress(whole)) return { address: whole.text };
  const [, bracketed, plain = "", port] =
    /^(?:\[([^\]]+)\]|([^:]*))(?::([^:]+))?$/.exec(text) ?? [];
  const named = bracketed ?? plain;
  const address = parseAddress(named);
  const at = port === undefined ? {} : { port };
  if (isAddress(address)) return { address: address.text, ...at };
  const reference = objectReference(named, namespace);
  return { key: objectKey(reference.namespace, reference.name), ...at };
}
