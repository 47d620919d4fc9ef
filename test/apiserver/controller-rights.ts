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
export function meshRights(id: string, user: string, peer: string): RightsObject[] {
  const files = [...OWN, ...REGISTRY, "mesh/peers.yaml", "mesh/registry.yaml"];
  const objects = boundTo(user, ACCOUNT, rightsIn(files, { cluster: id }));
  return boundToAll([peer], `clusterset-registry-${id}`, objects);
}

/** The objects that let `user` be the controller of a cluster that publishes on a hub. */
export function memberRights(user: string): RightsObject[] {
  return boundTo(user, ACCOUNT, rightsIn(OWN));
}

/** The objects that let users of a hub, who are called as their clusters are, be members of it. */
export function hubRights(ids: readonly string[]): RightsObject[] {
  const common = rightsIn([...REGISTRY, "hub/hub.yaml"]);
  const registries = ids.flatMap((id) =>
    boundTo(id, id, rightsIn(["hub/cluster.yaml"], { cluster: id })),
  );
  return boundToAll(ids, MEMBERS, [...common, ...registries]);
}
