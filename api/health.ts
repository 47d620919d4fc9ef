/** Whose endpoints are watched for silence: nobody's, those of other clusters, or all. */
export const HEALTH_SCOPES = ["off", "remote", "all"] as const;
/** One of `HEALTH_SCOPES`. */
export type HealthScope = (typeof HEALTH_SCOPES)[number];

/** Whether a scope has the endpoints of `cluster`, seen from a node of cluster `own`. An endpoint of unknown origin may be a local one. */
export function admits(
  scope: HealthScope,
  cluster: string | undefined,
  own: string | undefined,
): boolean {
  return scope === "all" || (scope === "remote" && cluster !== undefined && cluster !== own);
}
