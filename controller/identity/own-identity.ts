import {
  ABOUT_GROUP,
  ABOUT_VERSIONS,
  PROPERTY_CLUSTER_ID,
  PROPERTY_CLUSTER_SET,
  PROPERTY_REGION,
} from "../../api/keys.ts";
import { isClusterId, isClusterSetId, isLabelValue } from "../../api/names.ts";
import { shown } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import type { Manifest } from "../model/manifest.ts";

/** Who a cluster is. */
export interface Identity {
  readonly id: string;
  readonly clusterSet?: string;
  readonly region?: string;
}

/** What an operator says of this cluster: flags, each of them optional. */
export interface IdentityFlags {
  readonly cluster: string | undefined;
  readonly clusterSet: string | undefined;
  readonly region: string | undefined;
}

/** What is known of who this cluster is, or why it is not. */
export type OwnIdentity =
  | {
      readonly reason: "identified";
      readonly identity: Identity;
      /** ClusterProperties that are not there and that a flag gives. They are created, and never overwritten. */
      readonly missing: readonly Manifest[];
    }
  | IdentityFault;

/** Why it is not known who this cluster is: nothing is written. */
export interface IdentityFault {
  readonly reason: Extract<
    Reason,
    "identity-missing" | "identity-invalid" | "identity-differs" | "identity-changed"
  >;
  /** For people: what contradicts what, and what would mend it. */
  readonly detail: string;
}

/**
 * Who this cluster is, by its flags and by its ClusterProperties (KEP-2149), whose values may be any text. A property
 * that contradicts its flag is a fault, whichever is right: a cluster that publishes under another's id takes its
 * place. `before`: what was believed until now. Of a property that was deleted, that stays; an id or a clusterset that
 * is another one would be to leave and to join again (KEP-1645), and takes a new start of the program.
 */
export function ownIdentity(
  flags: IdentityFlags,
  properties: ReadonlyMap<string, string>,
  before?: Identity,
): OwnIdentity {
  const id = claim("--cluster-id", flags.cluster, PROPERTY_CLUSTER_ID, isClusterId, properties);
  if (typeof id === "object") return id;
  const set = claim(
    "--clusterset-id",
    flags.clusterSet,
    PROPERTY_CLUSTER_SET,
    isClusterSetId,
    properties,
  );
  if (typeof set === "object") return set;
  const known = id ?? before?.id;
  if (known === undefined) {
    const detail = `Neither --cluster-id nor ClusterProperty ${PROPERTY_CLUSTER_ID} says the cluster's id`;
    return { reason: "identity-missing", detail };
  }
  const clusterSet = set ?? before?.clusterSet;
  const changed =
    changeOf("id", before?.id, known) ?? changeOf("clusterset", before?.clusterSet, clusterSet);
  if (changed !== undefined) return changed;
  const region = flags.region ?? regionOf(properties);
  return {
    reason: "identified",
    identity: {
      id: known,
      ...(clusterSet !== undefined && { clusterSet }),
      ...(region !== undefined && { region }),
    },
    missing: [
      ...property(PROPERTY_CLUSTER_ID, flags.cluster, properties),
      ...property(PROPERTY_CLUSTER_SET, flags.clusterSet, properties),
    ],
  };
}

/** What a flag and a property say together; undefined if neither says anything. */
function claim(
  flag: string,
  told: string | undefined,
  name: string,
  isValid: (text: string) => boolean,
  properties: ReadonlyMap<string, string>,
): string | undefined | IdentityFault {
  const found = properties.get(name);
  if (found === undefined) return told;
  if (told !== undefined && told !== found) {
    const detail = `${flag} says ${told}, ClusterProperty ${name} says ${shown(found)}; correct the one that is wrong`;
    return { reason: "identity-differs", detail };
  }
  if (isValid(found)) return found;
  const detail = `ClusterProperty ${name} says ${shown(found)}, which is no such id; correct it`;
  return { reason: "identity-invalid", detail };
}

function changeOf(
  what: string,
  before: string | undefined,
  now: string | undefined,
): IdentityFault | undefined {
  if (before === undefined || before === now) return undefined;
  const detail = `The cluster's ${what} was ${before} and is ${now} now; start the controller anew to leave and to join again`;
  return { reason: "identity-changed", detail };
}

function regionOf(properties: ReadonlyMap<string, string>): string | undefined {
  const region = properties.get(PROPERTY_REGION);
  return region !== undefined && isLabelValue(region) ? region : undefined;
}

function property(
  name: string,
  value: string | undefined,
  properties: ReadonlyMap<string, string>,
): Manifest[] {
  if (value === undefined || properties.has(name)) return [];
  const apiVersion = `${ABOUT_GROUP}/${ABOUT_VERSIONS[0]}`;
  return [{ apiVersion, kind: "ClusterProperty", metadata: { name }, spec: { value } }];
}
