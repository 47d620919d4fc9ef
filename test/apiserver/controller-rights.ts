import { OURS, type Release } from "./release.ts";
import { boundTo, boundToAll, type RightsObject, rightsIn } from "./rights.ts";

/** What every cluster grants its own controller. */
const OWN = [
  "namespace.yaml",
  "controller.yaml",
  "controller-election.yaml",
  "controller-outage.yaml",
];
/** What may be done in a registry. */
const REGISTRY = ["registry-publisher.yaml", "registry-reader.yaml"];
const ACCOUNT = "clusterset-controller";
/** Where a hub has the service accounts of its members. */
const MEMBERS = "clusterset-members";

/** The objects that let `user` be the controller of cluster `id` of a mesh, and `peer` read its registry. */
export function meshRights(
  id: string,
  user: string,
  peer: string,
  release: Release = OURS,
): RightsObject[] {
  const files = [...OWN, ...REGISTRY, "mesh/peers.yaml", "mesh/registry.yaml"];
  const objects = boundTo(user, ACCOUNT, rightsIn(files, { cluster: id, release }));
  return boundToAll([peer], `clusterset-registry-${id}`, objects);
}

/** The objects that let `user` be the controller of a cluster that publishes on a hub. */
export function memberRights(user: string, release: Release = OURS): RightsObject[] {
  return boundTo(user, ACCOUNT, rightsIn(OWN, { release }));
}

/** The objects that make users of a hub, who have the names of their clusters, its members. */
export function hubRights(ids: readonly string[]): RightsObject[] {
  const common = rightsIn([...REGISTRY, "hub/hub.yaml"]);
  const registries = ids.flatMap((id) =>
    boundTo(id, id, rightsIn(["hub/cluster.yaml"], { cluster: id })),
  );
  return boundToAll(ids, MEMBERS, [...common, ...registries]);
}
