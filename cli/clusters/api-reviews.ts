import { field, fieldAt } from "../../api/parse/fields.ts";
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

/** Minor version of a cluster's Kubernetes 1. Rejects with an ApiFault. */
export async function minorVersion(on: Cluster, signal: AbortSignal): Promise<number> {
  const version = await answer(on, "/version", signal);
  return Number.parseInt(String(field(version, "minor")), 10);
}

/** Which of some rights this user lacks, as sentences. Rejects with an ApiFault. */
export async function missingRights(
  on: Cluster,
  rights: readonly Right[],
  signal: AbortSignal,
): Promise<string[]> {
  const asked = new Map(
    rights.map(({ verb, object, named = false }) => {
      const { group, resource } = resourceOf(object);
      const { namespace, name } = object.metadata;
      const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
      const kind = group === "" ? resource : `${resource}.${group}`;
      const attributes = {
        ...{ verb, group, resource },
        ...(namespace !== undefined && { namespace }),
        ...(named && { name }),
      };
      const what = named ? `${kind} ${name}` : kind;
      return [`${on.context}: you may not ${verb} ${what}${where}.`, attributes] as const;
    }),
  );
  const answers = await Promise.all(
    [...asked].map(async ([sentence, resourceAttributes]) => {
      const body = { ...REVIEW, spec: { resourceAttributes } };
      const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
      const review = await answer(on, path, signal, { method: "POST", body });
      return fieldAt(review, "status", "allowed") === true ? [] : [sentence];
    }),
  );
  return answers.flat();
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
