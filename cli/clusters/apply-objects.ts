import { isDeepStrictEqual } from "node:util";
import { isFields } from "../../api/parse/fields.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ObjectMeta } from "../../common/kubernetes/object-meta.ts";
import type { ApiObject } from "../../common/kubernetes/writer.ts";
import { whyCrdStays } from "../install/crd-release.ts";
import { type InstallObject, resourceOf, titleOf } from "../install/install-object.ts";
import type { Cluster } from "./cluster.ts";
import { ClusterFault } from "./cluster-fault.ts";

/** The action on an object. `kept`: it differs and stays. `conflict`: other programs own fields that would change. */
export type Action = "created" | "changed" | "unchanged" | "kept" | "conflict" | "deleted";

/** An object, and what is to become of it. */
export interface Planned {
  readonly object: InstallObject;
  readonly action: Action;
  /** Why it is kept, or the conflict. */
  readonly detail?: string;
  /** Its present state; absent if it does not exist. */
  readonly seen?: ObjectMeta;
}

/** Options of `planObject`. */
export interface PlanOptions {
  /** True: takes fields over that other programs own. */
  readonly force: boolean;
  /** True: the API server checks also objects that do not exist yet. */
  readonly validate: boolean;
}

/**
 * Compares an object with the cluster's, by a dry run of the API server. An equal object is not written, whichever program wrote it.
 * Rejects with an ApiFault that names the object.
 */
export async function planObject(
  on: Cluster,
  object: InstallObject,
  { force, validate }: PlanOptions,
): Promise<Planned> {
  const resource = resourceOf(object);
  return named(on, object, async () => {
    const live = await on.objects.get(resource, object.metadata).catch(unlessServed);
    if (live === undefined) {
      if (validate) {
        // Its namespace or its kind may be created by the same join.
        await on.objects.apply(resource, object, { dryRun: true }).catch(unlessPossible);
      }
      return { object, action: "created" };
    }
    const { meta: seen } = live;
    if (object.kind === "CustomResourceDefinition") {
      const detail = whyCrdStays(live.object, object);
      if (detail !== undefined) return { object, action: "kept", detail, seen };
    }
    try {
      const { object: after } = await on.objects.apply(resource, object, {
        ...{ force, dryRun: true, seen },
      });
      return { object, action: isSame(live.object, after) ? "unchanged" : "changed", seen };
    } catch (thrown) {
      const detail = conflictIn(thrown);
      if (detail === undefined) throw thrown;
      // Server-side apply compares atomic fields as they are written, without the server's defaults. Equal values are no conflict.
      const { object: forced } = await on.objects.apply(resource, object, {
        ...{ force: true, dryRun: true, seen },
      });
      const action = isSame(live.object, forced) ? "unchanged" : "conflict";
      return { object, action, seen, ...(action === "conflict" && { detail }) };
    }
  });
}

/** Applies what a plan creates or changes. Rejects with an ApiFault that names the object. */
export async function applyPlanned(
  on: Cluster,
  { object, action, seen }: Planned,
  force: boolean,
): Promise<ApiObject | undefined> {
  if (action !== "created" && action !== "changed") return undefined;
  const options = { force, ...(seen !== undefined && { seen }) };
  return named(on, object, () => on.objects.apply(resourceOf(object), object, options));
}

/** True if the object exists. Rejects with an ApiFault that names the object. */
export function isThere(on: Cluster, object: InstallObject): Promise<boolean> {
  return named(on, object, async () => {
    const live = await on.objects.get(resourceOf(object), object.metadata).catch(unlessServed);
    return live !== undefined;
  });
}

/** Deletes an object if it exists; returns whether it did. Rejects with an ApiFault that names the object. */
export function deleteObject(on: Cluster, object: InstallObject): Promise<boolean> {
  const resource = resourceOf(object);
  return named(on, object, async () => {
    const live = await on.objects.get(resource, object.metadata).catch(unlessServed);
    // Without the version: that something else changed meanwhile does not matter.
    const { uid } = live?.meta ?? {};
    return uid !== undefined && on.objects.delete(resource, object.metadata, { uid });
  });
}

async function named<Result>(
  on: Cluster,
  object: InstallObject,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run();
  } catch (thrown) {
    if (!(thrown instanceof ApiFault)) throw thrown;
    const message = `${titleOf(object)}: ${thrown.message}`;
    throw new ClusterFault(on, new ApiFault(thrown.reason, message), thrown);
  }
}

/** The message of a conflict of server-side apply; undefined for other faults. */
function conflictIn(thrown: unknown): string | undefined {
  if (!(thrown instanceof ApiFault) || thrown.reason !== "write-conflict") return undefined;
  return /Apply failed with .*/s.exec(thrown.message)?.[0].replaceAll(/\s*\n\s*/g, " ");
}

function unlessServed(thrown: unknown): undefined {
  if (!(thrown instanceof ApiFault) || thrown.reason !== "not-served") throw thrown;
}

function unlessPossible(thrown: unknown): undefined {
  const later = ["not-served", "absent"] as const;
  if (!(thrown instanceof ApiFault) || !later.some((reason) => reason === thrown.reason))
    throw thrown;
}

/** Fields of metadata that a write changes by itself. */
const BY_SERVER = ["managedFields", "resourceVersion", "generation"];

function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(content(a), content(b));
}

function content(object: unknown): unknown {
  if (!isFields(object)) return object;
  const { metadata, status: _, ...rest } = object;
  const kept = Object.entries(isFields(metadata) ? metadata : {});
  return {
    ...rest,
    metadata: Object.fromEntries(kept.filter(([key]) => !BY_SERVER.includes(key))),
  };
}
