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

/** Identity of a cluster. */
export interface Identity {
  readonly id: string;
  readonly clusterSet?: string;
  readonly region?: string;
}

/** The flags; all are optional. */
export interface IdentityFlags {
  readonly cluster: string | undefined;
  readonly clusterSet: string | undefined;
  readonly region: string | undefined;
}

/** The identity, or why it is unknown. */
export type OwnIdentity =
  | {
      readonly reason: "identified";
      readonly identity: Identity;
      /** Missing ClusterProperties to create from flags. Existing ones are never overwritten. */
      readonly missing: readonly Manifest[];
    }
  | IdentityFault;

/** Why the identity is unknown; then nothing is written. */
export interface IdentityFault {
  readonly reason: Extract<
    Reason,
    "identity-missing" | "identity-invalid" | "identity-differs" | "identity-changed"
  >;
  /** The contradiction, and how to fix it. */
  readonly detail: string;
}

/**
 * Computes the identity from flags and ClusterProperties (KEP-2149). A contradiction is an error, because publishing
 * under a wrong ID would displace another cluster. `before`: the last identity, which stays if a property is deleted.
 * A changed ID or clusterset needs a restart (KEP-1645: leave and rejoin).
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
    const detail = `Neither --cluster-id nor ClusterProperty ${PROPERTY_CLUSTER_ID} sets the cluster ID`;
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

/** The value of a flag and its property; undefined if neither is set. */
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
  const detail = `ClusterProperty ${name} says ${shown(found)}, which is invalid; correct it`;
  return { reason: "identity-invalid", detail };
}

function changeOf(
  what: string,
  before: string | undefined,
  now: string | undefined,
): IdentityFault | undefined {
  if (before === undefined || before === now) return undefined;
  const detail = `The cluster's ${what} was ${before} and is ${now} now; restart the controller to leave and rejoin the clusterset`;
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
