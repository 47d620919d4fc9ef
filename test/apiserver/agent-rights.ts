import { OURS, type Release } from "./release.ts";
import { boundTo, type RightsObject, rightsIn } from "./rights.ts";

/** The objects that let a user do what the agent does, and nothing else (deploy/rbac/agent.yaml). */
export function agentRights(
  user: string,
  release: Release = OURS,
): readonly [role: RightsObject, binding: RightsObject] {
  const objects = boundTo(user, "clusterset-agent", rightsIn(["agent.yaml"], { release }));
  const role = objects.find(({ kind }) => kind === "ClusterRole");
  const binding = objects.find(({ kind }) => kind === "ClusterRoleBinding");
  if (role === undefined || binding === undefined) throw new Error("agent.yaml grants nothing");
  return [role, binding];
}
