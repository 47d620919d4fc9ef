import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parseAllDocuments } from "yaml";
import { isFields } from "../../api/parse/fields.ts";
import { type InstallObject, titleOf } from "../../cli/install/change.ts";
import { BEFORE_1_27, keyOf } from "../../cli/install/manifests.ts";

const DEPLOY = join(import.meta.dirname, "../../deploy");

/** Components that `kubectl clusterset join` can add. Not those for which a user has to choose values. */
const COMPONENTS = [
  "admission",
  "before-1.27",
  "eks",
  "ipvs",
  "k3s",
  "metrics",
  "monitoring",
  "net-raw",
  "nftables",
  "openshift",
  "preflight",
  "privileged",
  "rke2",
  "scrape",
  "startup-taint",
] as const;

/** What a component does to the objects of an overlay, as `cli/install/manifests.ts` applies it. */
export interface RenderedComponent {
  /** Objects that it adds. */
  readonly objects: readonly unknown[];
  /** Its changes of others, by title (`titleOf`). */
  readonly patches: Readonly<Record<string, unknown>>;
}

/** Objects of an overlay with components, as `kubectl kustomize` renders them. */
export function kustomizedWith(
  kubectl: string,
  base: string,
  components: readonly string[],
): InstallObject[] {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "clusterset-proxy-components-"));
  try {
    // Kustomize takes no absolute paths.
    const deploy = relative(folder, realpathSync(DEPLOY));
    const kustomization = {
      apiVersion: "kustomize.config.k8s.io/v1beta1",
      kind: "Kustomization",
      resources: [`${deploy}/${base}`],
      components: components.map((name) => `${deploy}/components/${name}`),
    };
    writeFileSync(join(folder, "kustomization.yaml"), JSON.stringify(kustomization));
    const text = execFileSync(kubectl, ["kustomize", folder], { encoding: "utf8" });
    return parseAllDocuments(text).map((document) => document.toJS() as InstallObject);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** All components that join can add, and the one that a privileged cleanup needs. */
export function renderedComponents(kubectl: string): Record<string, RenderedComponent> {
  const of = (base: string, name: string) => [
    name,
    difference(kustomizedWith(kubectl, base, []), kustomizedWith(kubectl, base, [name])),
  ];
  const all = Object.fromEntries([
    ...COMPONENTS.map((name) => of("overlays/mesh", name)),
    of("cleanup", "cleanup-privileged"),
  ]) as Record<string, RenderedComponent>;
  // What concerns the version of the API server concerns the CoreDNS of our own, too.
  const ownDns = difference(
    kustomizedWith(kubectl, "coredns/own", []),
    kustomizedWith(kubectl, "coredns/own", [BEFORE_1_27]),
  );
  const { objects = [], patches = {} } = all[BEFORE_1_27] ?? {};
  return { ...all, [BEFORE_1_27]: { objects, patches: { ...patches, ...ownDns.patches } } };
}

function difference(
  before: readonly InstallObject[],
  after: readonly InstallObject[],
): RenderedComponent {
  const known = new Map(before.map((object) => [titleOf(object), object]));
  const patches = after.flatMap((object) => {
    const title = titleOf(object);
    const base = known.get(title);
    return base === undefined || isDeepStrictEqual(base, object)
      ? []
      : [[title, patchOf(base, object)] as const];
  });
  return {
    objects: after.filter((object) => !known.has(titleOf(object))),
    patches: Object.fromEntries(patches),
  };
}

/** What `patched` (cli/install/manifests.ts) makes `after` of `before` with. */
function patchOf(before: unknown, after: unknown): unknown {
  if (isFields(before) && isFields(after)) {
    const changed = new Set([...Object.keys(before), ...Object.keys(after)]);
    return Object.fromEntries(
      [...changed]
        .filter((key) => !isDeepStrictEqual(before[key], after[key]))
        .map((key) => [key, key in after ? patchOf(before[key], after[key]) : null]),
    );
  }
  if (!Array.isArray(before) || !Array.isArray(after)) return after;
  const key = keyOf(after[0]);
  if (key === undefined) return after.filter((one) => !before.includes(one));
  return after.flatMap((one: Record<string, unknown>) => {
    const base = before.find((other: Record<string, unknown>) => other[key] === one[key]);
    if (base === undefined) return [one];
    if (isDeepStrictEqual(base, one)) return [];
    return [{ [key]: one[key], ...(patchOf(base, one) as object) }];
  });
}
