import { isDeepStrictEqual } from "node:util";
import { fieldAt, isFields, textField } from "../../api/parse/fields.ts";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import { SERVICES } from "../../common/kubernetes/kinds.ts";
import type { ApiObject } from "../../common/kubernetes/writer.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { ClusterFault } from "../clusters/cluster-fault.ts";
import { until } from "../clusters/until.ts";
import { type InstallObject, resourceOf, titleOf } from "../install/change.ts";
import { whyCrdStays } from "../install/manifests.ts";

/** The result of a change for its object. `kept`: the object differs and stays. `conflict`: other programs own fields that would change. `not found`: there is no object to delete. */
export type Action =
  | "created"
  | "changed"
  | "unchanged"
  | "kept"
  | "conflict"
  | "deleted"
  | "not found";

/** The outcome of a comparison. */
export interface Compared {
  readonly action: Action;
  /** Why it is kept, or the conflict. */
  readonly detail?: string;
}

/** How objects are compared and written. */
export interface ObjectOptions {
  /** True: takes fields over that other programs own. */
  readonly force: boolean;
  /** True: the API server checks each change. */
  readonly validate: boolean;
  /** True: a kind that is not served has no objects. False: it is a fault. */
  readonly mayLackKinds: boolean;
}

/** What changes are compared and made with. */
export interface Surroundings extends ObjectOptions {
  readonly clusters: ReadonlyMap<string, Cluster>;
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
}

/** The cluster of a context that a change names. */
export function clusterOf({ clusters }: Surroundings, context: string): Cluster {
  const found = clusters.get(context);
  if (found === undefined) throw new Error(`no cluster was opened for context ${context}`);
  return found;
}

/** Milliseconds for the write of an object: kinds of an applied CRD are served a moment later. */
const WRITE_MS = 60_000;

/**
 * Compares an object with the cluster's, by a dry run of the API server. An equal object is not written, whichever program wrote it.
 * Rejects with an ApiFault that names the object.
 */
export async function compareObject(
  on: Cluster,
  object: InstallObject,
  options: ObjectOptions,
): Promise<Compared> {
  const { action, detail } = await compareWithLive(on, object, options);
  return { action, ...(detail !== undefined && { detail }) };
}

function compareWithLive(
  on: Cluster,
  object: InstallObject,
  { force, validate, mayLackKinds }: ObjectOptions,
): Promise<Compared & { readonly live?: ApiObject }> {
  const resource = resourceOf(object);
  return naming(on, object, async () => {
    const live = await existing(on, object, mayLackKinds);
    if (live === undefined) {
      if (validate) {
        // Its namespace or its kind may be created by the same command.
        const later = orNothing("not-served", "absent");
        await on.objects.apply(resource, object, { dryRun: true }).catch(later);
      }
      return { action: "created" };
    }
    const { meta: seen } = live;
    if (object.kind === "CustomResourceDefinition") {
      const detail = whyCrdStays(live.object, object);
      if (detail !== undefined) return { action: "kept", detail, live };
    }
    const dryRun = async (forced: boolean): Promise<Action> => {
      const options = { force: forced, dryRun: true, seen };
      const { object: after } = await on.objects.apply(resource, object, options);
      return isSame(live.object, after) ? "unchanged" : "changed";
    };
    try {
      return { action: await dryRun(force), live };
    } catch (thrown) {
      const detail = conflictIn(thrown);
      if (detail === undefined) throw thrown;
      // Server-side apply compares atomic fields as they are written, without the server's defaults. Equal values are no conflict.
      const isEqual = (await dryRun(true)) === "unchanged";
      return isEqual ? { action: "unchanged", live } : { action: "conflict", detail, live };
    }
  });
}

/** Applies an object as it is by then, if it differs. Rejects with an ApiFault that names the object. */
export function applyObject(
  on: Cluster,
  object: InstallObject,
  options: ObjectOptions,
  signal: AbortSignal,
): Promise<Action> {
  return until(WRITE_MS, signal, async () => {
    const now = await compareWithLive(on, object, { ...options, validate: false });
    const { action, detail = "", live } = now;
    if (action === "conflict")
      throw new ApiFault("refused", `${on.context}: ${titleOf(object)}: ${detail}`);
    if (action !== "created" && action !== "changed") return { found: action };
    const { force } = options;
    const write = { force, ...(live !== undefined && { seen: live.meta }) };
    try {
      await naming(on, object, () => on.objects.apply(resourceOf(object), object, write));
    } catch (thrown) {
      // Such as a status that was written meanwhile.
      if (!(thrown instanceof ApiFault) || thrown.reason !== "write-conflict") throw thrown;
      return { missing: thrown.message };
    }
    return { found: action };
  });
}

/** Creates an object, unless it exists. `dryRun`: the API server only checks it. Rejects with an ApiFault that names the object. */
export function createObject(on: Cluster, object: InstallObject, dryRun = false): Promise<Action> {
  return naming(on, object, async () => {
    try {
      const resource = resourceOf(object);
      if (dryRun) await on.objects.checkCreate(resource, object);
      else await on.objects.create(resource, object);
      return "created";
    } catch (thrown) {
      // Another program has created it meanwhile, or this one by another context of the cluster.
      if (thrown instanceof ApiFault && thrown.reason === "write-conflict") return "unchanged";
      throw thrown;
    }
  });
}

/** The object as it is; undefined: it does not exist. Rejects with an ApiFault that names the object. */
export function findObject(
  on: Cluster,
  object: InstallObject,
  { mayLackKinds }: Pick<ObjectOptions, "mayLackKinds">,
): Promise<ApiObject | undefined> {
  return naming(on, object, () => existing(on, object, mayLackKinds));
}

/** Deletes an object if it exists. `dryRun`: the API server only checks it. Rejects with an ApiFault that names the object. */
export function deleteObject(
  on: Cluster,
  object: InstallObject,
  { mayLackKinds }: ObjectOptions,
  dryRun = false,
): Promise<Action> {
  return naming(on, object, async () => {
    const live = await existing(on, object, mayLackKinds);
    // Without the version: that something else changed meanwhile does not matter.
    const { uid } = live?.meta ?? {};
    if (uid === undefined) return "not found";
    const resource = resourceOf(object);
    const isDeleted = await on.objects.delete(resource, object.metadata, { uid }, { dryRun });
    return isDeleted ? "deleted" : "not found";
  });
}

async function existing(
  on: Cluster,
  object: InstallObject,
  mayLackKinds: boolean,
): Promise<ApiObject | undefined> {
  const live = on.objects.get(resourceOf(object), object.metadata);
  return mayLackKinds ? live.catch(orNothing("not-served")) : live;
}

/** Runs something about an object, whose faults name it. */
async function naming<Result>(
  on: Cluster,
  object: InstallObject,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run();
  } catch (thrown) {
    // Of a cluster without our CRDs, the fault has all that a user has to know.
    if (!(thrown instanceof ApiFault) || thrown.reason === "not-served") throw thrown;
    const why = thrown instanceof ClusterFault ? thrown.why : thrown.message;
    const message = `${titleOf(object)}: ${why}`;
    throw new ClusterFault(on, new ApiFault(thrown.reason, message), thrown);
  }
}

/** The message of a conflict of server-side apply; undefined for other faults. */
function conflictIn(thrown: unknown): string | undefined {
  if (!(thrown instanceof ApiFault) || thrown.reason !== "write-conflict") return undefined;
  return /Apply failed with .*/s.exec(thrown.message)?.[0].replaceAll(/\s*\n\s*/g, " ");
}

/** For `catch`: undefined for faults with these reasons. */
function orNothing(...reasons: readonly FaultReason[]): (thrown: unknown) => undefined {
  return (thrown) => {
    if (!(thrown instanceof ApiFault) || !reasons.includes(thrown.reason)) throw thrown;
  };
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

/** The ClusterIP of a Service; undefined if it does not exist. Rejects with an ApiFault. */
export async function addressOfService(
  on: Cluster,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<string | undefined> {
  const live = await on.objects.get(SERVICES, { namespace, name });
  return textField(fieldAt(live?.object, "spec"), "clusterIP");
}
