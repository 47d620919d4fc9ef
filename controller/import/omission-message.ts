import type { Reason } from "../../api/reasons.ts";

const OMISSIONS = / Left out: ([a-z, -]+)\.$/;

/**
 * The message of a condition, with the reasons for which parts of the service are left out, besides those that it names
 * already. Values are not shown, because a user of one cluster need not see what another cluster publishes.
 */
export function withOmissions(message: string, omitted: readonly Reason[]): string {
  if (omitted.length === 0) return message;
  const named = OMISSIONS.exec(message)?.[1]?.split(", ") ?? [];
  const reasons = [...new Set([...named, ...omitted])].sort().join(", ");
  return `${message.replace(OMISSIONS, "")} Left out: ${reasons}.`;
}
