import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { output, ROOT } from "./output.ts";

/** Folders of deploy/ that a release has as one file each, for `kubectl apply -f`. */
const RENDERED = {
  "install-mesh.yaml": "overlays/mesh",
  "install-hub.yaml": "overlays/hub",
  "install-agents.yaml": "overlays/agents",
  "crds.yaml": "crds",
  "coredns-rbac.yaml": "coredns",
  "coredns-own.yaml": "coredns/own",
  "cleanup.yaml": "cleanup",
} as const;

/** Renders the manifests with this kubectl; returns their paths. */
export function renderManifests(folder: string, kubectl: string): string[] {
  mkdirSync(folder, { recursive: true });
  return Object.entries(RENDERED).map(([name, source]) => {
    const file = join(folder, name);
    writeFileSync(file, output(kubectl, ["kustomize", join(ROOT, "deploy", source)]));
    return file;
  });
}
