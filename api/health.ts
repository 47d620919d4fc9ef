/**
 * Whose endpoints are watched for silence: no endpoints, those of other clusters, also those of the own cluster but each by itself, or all, with those of
 * unknown origin.
 */
export const HEALTH_SCOPES = ["off", "remote", "endpoints", "all"] as const;
/** One of `HEALTH_SCOPES`. */
export type HealthScope = (typeof HEALTH_SCOPES)[number];

/** Whether a scope has the endpoints of `cluster`, seen from a node of cluster `own`. An endpoint of unknown origin may be a local one. */
export function admits(
  scope: HealthScope,
  cluster: string | undefined,
  own: string | undefined,
): boolean {
  if (scope === "all") return true;
  if (scope === "off" || cluster === undefined) return false;
  return scope === "endpoints" || cluster !== own;
}
