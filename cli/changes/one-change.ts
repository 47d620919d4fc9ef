import type { Right } from "../clusters/api-reviews.ts";
import type { Cluster } from "../clusters/cluster.ts";
import {
  type Annotate,
  type Change,
  type InstallObject,
  resourceOf,
  titleOf,
} from "../install/change.ts";
import { applyNames, NAMES_OBJECT, NAMES_WORKLOAD, planNames } from "./core-dns.ts";
import { leftBehind } from "./left-objects.ts";
import {
  type Action,
  applyObject,
  clusterOf,
  compareObject,
  createObject,
  deleteObject,
  findObject,
  type Surroundings,
} from "./objects.ts";
import { handoverSecret, isRotated, untilToken } from "./tokens.ts";

/** The result of a change for one object: a line of a plan, or of a report. */
export interface Line {
  /** An `Action`, or what an annotation means. */
  readonly action: string;
  readonly object: InstallObject;
  readonly detail?: string;
}

/** What a change would do by now. Writes nothing. Rejects with an ApiFault. */
export async function compare(change: Change, around: Surroundings): Promise<Line[]> {
  const lines = await linesOf(change, around);
  const { detail } = change;
  return detail === undefined ? lines : lines.map((one) => ({ detail, ...one }));
}

async function linesOf(change: Change, around: Surroundings): Promise<Line[]> {
  const on = clusterOf(around, change.on);
  switch (change.act) {
    case "put": {
      const { object, unless } = change;
      if (unless === "exists") {
        const exists = (await findObject(on, object, around)) !== undefined;
        if (!exists && around.validate) await createObject(on, object, true);
        return [{ object, action: exists ? "unchanged" : "created" }];
      }
      if (unless === "has-token" && (await isRotated(on, object))) return [];
      return [{ object, ...(await compareObject(on, object, around)) }];
    }
    case "hand-over": {
      const { handover } = change;
      const secret = await handoverSecret(clusterOf(around, handover.from), on, change);
      if (secret !== undefined)
        return [{ object: secret, ...(await compareObject(on, secret, around)) }];
      const action = (await findObject(on, handover.secret, around)) ? "changed" : "created";
      const detail = change.detail ?? "its token is created first";
      return [{ object: handover.secret, action, detail }];
    }
    case "annotate":
      if (around.validate) await annotate(change, on, true);
      return [{ object: change.object, action: change.means }];
    case "remove": {
      const { object } = change;
      if (around.validate)
        return [{ object, action: await deleteObject(on, object, around, true) }];
      return [{ object, action: (await findObject(on, object, around)) ? "deleted" : "not found" }];
    }
    case "sweep":
      if (around.validate) return sweep(on, around, true);
      return (await leftBehind(on)).map((object) => ({ object, action: "deleted" }));
    case "names": {
      const { action, detail } = await planNames(on, change.verb);
      return [{ object: NAMES_OBJECT, action, ...(detail !== undefined && { detail }) }];
    }
    case "wait":
      return [];
  }
}

/** Makes a change, as it is by now, and returns what it did. Rejects with an ApiFault. */
export async function make(change: Change, around: Surroundings): Promise<Line[]> {
  const { signal } = around;
  const on = clusterOf(around, change.on);
  const put = async (object: InstallObject): Promise<Line[]> => [
    { object, action: await applyObject(on, object, around, signal) },
  ];
  switch (change.act) {
    case "put": {
      const { object, unless } = change;
      if (unless === "exists") return [{ object, action: await createObject(on, object) }];
      return unless === "has-token" && (await isRotated(on, object)) ? [] : put(object);
    }
    case "hand-over": {
      const { handover, token: name } = change;
      const from = clusterOf(around, handover.from);
      await untilToken(from, name === undefined ? handover : { ...handover, name }, signal);
      return put((await handoverSecret(from, on, change)) ?? handover.secret);
    }
    case "annotate":
      await annotate(change, on, false);
      return [{ object: change.object, action: change.means }];
    case "remove": {
      const { object } = change;
      return [{ object, action: await deleteObject(on, object, around) }];
    }
    case "sweep":
      return sweep(on, around);
    case "names": {
      const plan = await planNames(on, change.verb);
      await applyNames(on, plan, around.timeOfDay(), signal);
      return [{ object: NAMES_OBJECT, action: plan.action }];
    }
    case "wait":
      return [];
  }
}

async function sweep(on: Cluster, around: Surroundings, dryRun = false): Promise<Line[]> {
  const lines: Line[] = [];
  for (const object of await leftBehind(on))
    lines.push({ object, action: await deleteObject(on, object, around, dryRun) });
  return lines;
}

async function annotate(
  { object, annotations, seen }: Annotate,
  on: Cluster,
  dryRun: boolean,
): Promise<void> {
  const patch = { metadata: { annotations } };
  await on.objects.patch(resourceOf(object), object.metadata, patch, seen, { dryRun });
}

/** What a change of these objects needs to be allowed. PURE. */
export function rightsOf({ act }: Change, objects: readonly InstallObject[]): Right[] {
  const all = (...verbs: readonly Right["verb"][]): Right[] =>
    objects.flatMap((object) => verbs.map((verb) => ({ verb, object })));
  switch (act) {
    case "put":
    case "hand-over":
      return all("get", "create", "patch");
    case "annotate":
      return all("patch");
    case "remove":
    case "sweep":
      return all("delete");
    case "names": {
      if (objects.length === 0) return [];
      const both = [NAMES_OBJECT, NAMES_WORKLOAD];
      return both.flatMap((object) =>
        (["get", "patch"] as const).map((verb) => ({ verb, object, named: true })),
      );
    }
    case "wait":
      return [];
  }
}

const IDLE: readonly string[] = ["unchanged", "kept", "not found"] satisfies Action[];

/** True if a line of a plan changes its object. PURE. */
export function isLeft({ action }: Line): boolean {
  return !IDLE.includes(action);
}

/** A line as sentences have it, such as `shop/serviceexport/web created`. PURE. */
export function sentenceOf({ object, action, detail }: Line): string {
  return `${titleOf(object)} ${action}${detail === undefined ? "" : `, ${detail}`}`;
}
