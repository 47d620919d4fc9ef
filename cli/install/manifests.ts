import {
  ANNOTATION_API_SERVER,
  ANNOTATION_COMPONENTS,
  ANNOTATION_ENDPOINT_CIDRS,
} from "../../api/keys.ts";
import { field, fieldAt, isFields, textField } from "../../api/parse/fields.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import { type InstallObject, titleOf } from "./change.ts";
import rendered from "./manifests.json" with { type: "json" };

/** Where the registries are. */
export type RegistryMode = "mesh" | "hub";

/** Images of the programs, by the names that deploy has for them; absent: those names. */
export interface Images {
  readonly "clusterset-agent"?: string;
  readonly "clusterset-controller"?: string;
  /** Of `deploy/coredns/own`. */
  readonly coredns?: string;
}

/** All functions of this file are PURE, and return objects of deploy (scripts/manifests.ts). */
const MANIFESTS = rendered as unknown as Readonly<
  Record<
    "crds" | "onHub" | "registry" | "reader" | "member" | "dns" | "dnsOwn" | "cleanup",
    InstallObject[]
  > &
    Record<RegistryMode, InstallObject[]>
>;

/** The blocks of CoreDNS's Corefile, between their marker lines: one serves the zone, the other one forwards it to `$address`. */
export const COREFILE_BLOCKS: { readonly names: string; readonly forward: string } =
  rendered.corefile;

/** The CRDs. */
export const CRDS: readonly InstallObject[] = MANIFESTS.crds;

/** Permissions of the cluster's CoreDNS. */
export const DNS_RIGHTS: readonly InstallObject[] = MANIFESTS.dns;

/** A CoreDNS for `clusterset.local` only (`ownDns`). */
export const DNS_OWN: readonly InstallObject[] = MANIFESTS.dnsOwn;

/** The same for a cluster with these components. */
export function ownDnsObjects(components: readonly string[]): InstallObject[] {
  return withComponents(
    DNS_OWN,
    components.filter((name) => name === BEFORE_1_27),
  );
}

/** What all members of a hub share there. */
export const ON_HUB: readonly InstallObject[] = MANIFESTS.onHub;

/** What every member runs: namespaces, permissions, agents and controllers. */
export function programs(
  mode: RegistryMode,
  images: Images,
  components: readonly string[] = [],
): InstallObject[] {
  const objects = withImages(withComponents(MANIFESTS[mode], components), images);
  return components.length === 0 ? objects : objects.map((one) => recorded(one, components));
}

/** What removes the agents' rules from all nodes. `components`: those that the agents had. */
export function cleanup(images: Images, components: readonly string[] = []): InstallObject[] {
  return withImages(withComponents(MANIFESTS.cleanup, ofCleanup(components)), images);
}

/** The DaemonSet with the names of its components: a later join or upgrade keeps them. */
function recorded(object: InstallObject, components: readonly string[]): InstallObject {
  if (object.kind !== "DaemonSet") return object;
  const annotations = {
    ...object.metadata.annotations,
    [ANNOTATION_COMPONENTS]: components.join(),
  };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** In a mesh: a cluster's registry, on its own API server, with what a later join reads of it (`ClusterFacts.declared`). */
export function registryOf(
  cluster: string,
  server: string,
  endpointCidrs: string,
): InstallObject[] {
  return annotated(filledIn(MANIFESTS.registry, cluster), {
    [ANNOTATION_API_SERVER]: server,
    [ANNOTATION_ENDPOINT_CIDRS]: endpointCidrs,
  });
}

/** In a mesh, on `cluster`: the service account and token with which `peer` reads its registry. */
export function readerOf(cluster: string, peer: string): InstallObject[] {
  return filledIn(MANIFESTS.reader, cluster, peer);
}

/** On a hub: a member's registry, its ranges, and its token. */
export function memberOf(cluster: string, endpointCidrs: string): InstallObject[] {
  return annotated(filledIn(MANIFESTS.member, cluster), {
    [ANNOTATION_ENDPOINT_CIDRS]: endpointCidrs,
  });
}

/** Objects whose namespace has these annotations. */
function annotated(
  objects: readonly InstallObject[],
  annotations: Readonly<Record<string, string>>,
): InstallObject[] {
  return objects.map((object) =>
    object.kind === "Namespace"
      ? { ...object, metadata: { ...object.metadata, annotations } }
      : object,
  );
}

/** IDs have no characters that JSON escapes. */
function filledIn(objects: readonly InstallObject[], cluster: string, peer = ""): InstallObject[] {
  const text = JSON.stringify(objects)
    .replaceAll("clusterset-registry-CLUSTER_ID", registryNamespace(cluster))
    .replaceAll("CLUSTER_ID", cluster)
    .replaceAll("PEER_ID", peer);
  return JSON.parse(text) as InstallObject[];
}

function withImages(objects: readonly InstallObject[], images: Images): InstallObject[] {
  const replaced = (key: string, value: unknown): unknown => {
    if (key !== "image" || typeof value !== "string") return value;
    return images[value.split(":")[0] as keyof Images] ?? value;
  };
  return JSON.parse(JSON.stringify(objects, replaced)) as InstallObject[];
}

/** Labels of mcs-api's CRDs, since its v0.4.0. */
const LABELS = ["release-version", "crd-schema-revision"].map(
  (name) => `multicluster.x-k8s.io/${name}`,
);

/** Why the CRD of a cluster stays as it is, rather than becoming ours; undefined if it does not. As deploy/crds/install. PURE. */
export function whyCrdStays(present: unknown, ours: unknown): string | undefined {
  const [theirRelease, ourRelease] = [releaseOf(present), releaseOf(ours)];
  if (theirRelease.length > 0 && isLater(theirRelease, ourRelease)) {
    return `${theirRelease.join(" ")} is newer than ${ourRelease.join(" ")}`;
  }
  const known = new Set(versionsOf(ours));
  const extra = versionsOf(present).filter((version) => !known.has(version));
  return extra.length > 0 ? `it has API version ${extra.join(", ")}` : undefined;
}

function releaseOf(crd: unknown): string[] {
  return LABELS.flatMap((label) => {
    const value = fieldAt(crd, "metadata", "labels", label);
    return typeof value === "string" ? [value] : [];
  });
}

function isLater(a: readonly string[], b: readonly string[]): boolean {
  const numeric = new Intl.Collator("en", { numeric: true });
  return numeric.compare(a.join(" "), b.join(" ")) > 0;
}

function versionsOf(crd: unknown): string[] {
  const versions = field(field(crd, "spec"), "versions");
  return (Array.isArray(versions) ? versions : []).flatMap((one) => textField(one, "name") ?? []);
}

interface Component {
  readonly objects: readonly InstallObject[];
  /** By title. */
  readonly patches: Readonly<Record<string, unknown>>;
}

/** Folders of deploy/components (scripts/manifests/components.ts). */
const ALL = rendered.components as unknown as Readonly<Record<string, Component>>;

/** Leaves out what API servers before Kubernetes 1.27 reject. */
export const BEFORE_1_27 = "before-1.27";

/** Makes the cleanup of nodes privileged. */
export const CLEANUP_PRIVILEGED = "cleanup-privileged";

/** Components that a join can add. */
export const COMPONENTS: readonly string[] = Object.keys(ALL).filter(
  (name) => name !== CLEANUP_PRIVILEGED && name !== BEFORE_1_27,
);

/** Those with which agents get more than the permissions that a cleanup has by itself. */
const PRIVILEGED = ["privileged", "openshift"];

/** The components that a cleanup of nodes needs after these. PURE. */
export function ofCleanup(components: readonly string[]): readonly string[] {
  return components.some((name) => PRIVILEGED.includes(name)) ? [CLEANUP_PRIVILEGED] : [];
}

/** The objects with components, as kustomize adds them one after the other. Unknown ones add nothing. PURE. */
export function withComponents(
  objects: readonly InstallObject[],
  components: readonly string[],
): InstallObject[] {
  let all = [...objects];
  for (const name of components) {
    const { objects: more = [], patches = {} } = ALL[name] ?? {};
    const titles = new Set(all.map(titleOf));
    const end = all.findLastIndex(({ kind }) => kind === "Namespace") + 1;
    // Before the programs, whose pods may need them.
    all.splice(end, 0, ...more.filter((object) => !titles.has(titleOf(object))));
    all = all.map((object) => patched(object, patches[titleOf(object)]) as InstallObject);
  }
  return all;
}

/** A value with a part replaced: null deletes a field; elements of lists are identified by `keyOf`, new ones come first. PURE. */
function patched(value: unknown, patch: unknown): unknown {
  if (patch === undefined) return value;
  if (isFields(value) && isFields(patch)) {
    const merged = { ...value };
    for (const [key, part] of Object.entries(patch)) {
      if (part === null) delete merged[key];
      else merged[key] = patched(merged[key], part);
    }
    return merged;
  }
  if (!Array.isArray(value) || !Array.isArray(patch)) return patch;
  const key = keyOf(patch[0]);
  if (key === undefined)
    return [...value, ...(patch as unknown[]).filter((one) => !value.includes(one))];
  const elements = value as Record<string, unknown>[];
  const parts = patch as Record<string, unknown>[];
  const isNew = (part: Record<string, unknown>) => !elements.some((one) => one[key] === part[key]);
  return [
    ...parts.filter(isNew),
    ...elements.map((one) =>
      patched(
        one,
        parts.find((part) => part[key] === one[key]),
      ),
    ),
  ];
}

/** The field that tells elements of a list apart: as Kubernetes has it for containers, volumes, variables and mounts. */
export function keyOf(element: unknown): "mountPath" | "name" | undefined {
  if (!isFields(element)) return undefined;
  return "mountPath" in element ? "mountPath" : "name" in element ? "name" : undefined;
}
