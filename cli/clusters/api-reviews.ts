import { field, fieldAt, textField } from "../../api/parse/fields.ts";
import type { ApiWrite } from "../../common/kubernetes/api-server.ts";
import { parseJson } from "../../common/kubernetes/json.ts";
import { requestBody } from "../../common/kubernetes/request-body.ts";
import type { InstallObject } from "../install/change.ts";
import { resourceOf } from "../install/change.ts";
import type { Cluster } from "./cluster.ts";
import { inCluster } from "./cluster-fault.ts";

/** Milliseconds without a byte of an answer that has begun. For its beginning, the cluster's own limit applies. */
const SILENCE_MS = 10_000;
const REVIEW = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview" };

/** What a change needs to be allowed: a verb, for all objects of a kind in a namespace. */
export interface Right {
  readonly verb: "get" | "create" | "patch" | "delete";
  readonly object: InstallObject;
  /** True: for this object only, as a user may have it. */
  readonly named?: boolean;
}

/** The version of an API server. */
export interface ServerVersion {
  /** Minor version of its Kubernetes 1. */
  readonly minor: number;
  /** With the mark of its distribution, such as `v1.33.4-eks-abc`. */
  readonly gitVersion: string;
}

/** Reads the version of an API server. Rejects with an ApiFault. */
export async function serverVersion(on: Cluster, signal: AbortSignal): Promise<ServerVersion> {
  const version = await answer(on, "/version", signal);
  const gitVersion = textField(version, "gitVersion") ?? "";
  // A build without its scripts leaves `minor` empty.
  const [, said = field(version, "minor")] = /^v1\.(\d+)\./.exec(gitVersion) ?? [];
  const minor = Number.parseInt(String(said), 10);
  return { minor, gitVersion: gitVersion === "" ? `v1.${minor}` : gitVersion };
}

/**
 * Which of some rights this user lacks, as sentences. A right for all objects of a kind is enough, and so are rights for each of them by name (`resourceNames`).
 * Rejects with an ApiFault.
 */
export async function missingRights(
  on: Cluster,
  rights: readonly Right[],
  signal: AbortSignal,
): Promise<string[]> {
  const kinds = Map.groupBy(rights, (right) => sentenceOf(on, right));
  const lacks = async (right: Right, named: boolean) =>
    !(await isAllowed(on, { ...right, named }, signal));
  const answers = await Promise.all(
    [...kinds].map(async ([sentence, [first, ...others]]) => {
      if (first === undefined || !(await lacks(first, first.named ?? false))) return [];
      // Without a right for the first object, the others are not asked for: there may be thousands.
      if (first.named || (await lacks(first, true))) return [sentence];
      const missing: string[] = [];
      for (const one of others)
        if (await lacks(one, true)) missing.push(sentenceOf(on, { ...one, named: true }));
      return [...new Set(missing)];
    }),
  );
  return answers.flat();
}

function sentenceOf({ context }: Cluster, { verb, object, named = false }: Right): string {
  const { group, resource } = resourceOf(object);
  const { namespace, name } = object.metadata;
  const kind = group === "" ? resource : `${resource}.${group}`;
  const what = named ? `${kind} ${name}` : kind;
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  return `${context}: you may not ${verb} ${what}${where}.`;
}

async function isAllowed(
  on: Cluster,
  { verb, object, named = false }: Right,
  signal: AbortSignal,
): Promise<boolean> {
  const { group, resource } = resourceOf(object);
  const { namespace, name } = object.metadata;
  const resourceAttributes = {
    ...{ verb, group, resource },
    ...(namespace !== undefined && { namespace }),
    ...(named && { name }),
  };
  const body = { ...REVIEW, spec: { resourceAttributes } };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const review = await answer(on, path, signal, { method: "POST", body });
  return fieldAt(review, "status", "allowed") === true;
}

async function answer(
  on: Cluster,
  path: string,
  signal: AbortSignal,
  write?: ApiWrite,
): Promise<unknown> {
  const request = { path, signal, silence: SILENCE_MS, ...(write && { write }) };
  return inCluster(on, async () => {
    const parts: Uint8Array[] = [];
    for await (const part of await requestBody(on.api, request)) parts.push(part);
    return parseJson(Buffer.concat(parts));
  });
}
