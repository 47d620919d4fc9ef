import { isFields } from "../../api/parse/fields.ts";
import { type InstallObject, titleOf } from "./change.ts";
import rendered from "./manifests.json" with { type: "json" };

interface Component {
  readonly objects: readonly InstallObject[];
  /** By title. */
  readonly patches: Readonly<Record<string, unknown>>;
}

/** Folders of deploy/components (scripts/manifests/components.ts). */
const ALL = rendered.components as unknown as Readonly<Record<string, Component>>;

/** Makes the cleanup of nodes privileged. */
export const CLEANUP_PRIVILEGED = "cleanup-privileged";

/** Components that a join can add. */
export const COMPONENTS: readonly string[] = Object.keys(ALL).filter(
  (name) => name !== CLEANUP_PRIVILEGED,
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
