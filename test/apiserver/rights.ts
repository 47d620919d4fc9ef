import { readdirSync, readFileSync } from "node:fs";
import { parse, parseAllDocuments } from "yaml";
import { OURS, type Release } from "./release.ts";

/** What users apply. */
const DIRECTORY = `${OURS.deploy}/rbac`;
const RBAC = "rbac.authorization.k8s.io";

/** One rule of a Role or ClusterRole. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** An object of deploy/rbac. */
export interface RightsObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  /** Of a Role or ClusterRole. */
  readonly rules?: readonly Rule[];
  /** Of a binding. */
  readonly subjects?: readonly Subject[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
}

/** Whom a binding is about. */
export interface Subject {
  readonly kind: string;
  readonly apiGroup?: string;
  readonly namespace?: string;
  readonly name: string;
}

/** The files of deploy/rbac that every cluster has, whichever kind of registry it has. */
export const EVERYWHERE: readonly string[] = parse(
  readFileSync(`${DIRECTORY}/Kustomization`, "utf8"),
).resources;

/** All files of deploy/rbac that have objects. */
export function rightsFiles(): string[] {
  const files = readdirSync(DIRECTORY, { recursive: true, encoding: "utf8" });
  return files.filter((file) => file.endsWith(".yaml")).sort();
}

/** The objects of files of a release's deploy/rbac, in order, with these words in the place of `CLUSTER_ID` and `PEER_ID`. */
export function rightsIn(
  files: readonly string[],
  {
    cluster = "CLUSTER_ID",
    peer = "PEER_ID",
    release = OURS,
  }: { cluster?: string; peer?: string; release?: Release } = {},
): RightsObject[] {
  return files.flatMap((file) => {
    const text = readFileSync(`${release.deploy}/rbac/${file}`, "utf8")
      .replaceAll("CLUSTER_ID", cluster)
      .replaceAll("PEER_ID", peer);
    return parseAllDocuments(text).map((document) => {
      const [error] = document.errors;
      if (error !== undefined) throw error;
      return document.toJS() as RightsObject;
    });
  });
}

/** The roles of the plugin's guide for users who only look, and their bindings. */
export function readerRights(user: string): RightsObject[] {
  const guide = readFileSync(`${OURS.deploy}/../docs/guides/kubectl-plugin.md`, "utf8");
  const roles = [...guide.matchAll(/^```yaml\n(apiVersion: rbac.*?)^```$/gms)];
  return roles.flatMap(([, text = ""]) => {
    const role = parse(text) as RightsObject;
    const { kind, metadata } = role;
    const binding = { apiVersion: `${RBAC}/v1`, kind: `${kind}Binding`, metadata };
    const subjects = [{ kind: "User", name: user }];
    const roleRef = { apiGroup: RBAC, kind, name: metadata.name };
    return [role, { ...binding, subjects, roleRef }];
  });
}

/** The same objects, with a user of a test in the place of the service account of this name. */
export function boundTo(
  user: string,
  account: string,
  objects: readonly RightsObject[],
): RightsObject[] {
  return withUsers([user], { kind: "ServiceAccount", name: account }, objects);
}

/** The group of all service accounts of a namespace. */
function accountsOf(namespace: string) {
  return { kind: "Group", name: `system:serviceaccounts:${namespace}` };
}

/** The same objects, with users of a test in the place of this subject. */
function withUsers(
  users: readonly string[],
  { kind, name }: Pick<Subject, "kind" | "name">,
  objects: readonly RightsObject[],
): RightsObject[] {
  const instead = users.map((user): Subject => ({ kind: "User", apiGroup: RBAC, name: user }));
  return objects.map(({ subjects, ...object }) => ({
    ...object,
    ...(subjects && {
      subjects: subjects.flatMap((one) => (one.kind === kind && one.name === name ? instead : one)),
    }),
  }));
}

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
  return withUsers([peer], accountsOf(`clusterset-registry-${id}`), objects);
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
  return withUsers(ids, accountsOf(MEMBERS), [...common, ...registries]);
}
