import { globSync } from "node:fs";

/** Files that name the version of this release. package-lock.json names it as that of the project, in its first lines. */
const FILES = [
  "package.json",
  "package-lock.json",
  "Dockerfile.agent",
  "images/*/Dockerfile",
  "deploy/{base,cleanup}/kustomization.yaml",
  "deploy/charts/*/Chart.yaml",
  "cli/install/manifests.json",
  "docs/MCS-API.md",
  "docs/PLUGIN.md",
  "docs/guides/*.md",
  "test/e2e/*.ts",
];

/** The paths of these files. */
export function versionFiles(root: string): string[] {
  return globSync(FILES, { cwd: root }).toSorted();
}

/** Whether this is a version of this project: three numbers, without leading zeros. PURE. */
export function isVersion(text: string): boolean {
  return /^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(text);
}

/**
 * The text with another version in the place of this one, and the patch release after it in the place of that after this one, which
 * guides and tests upgrade to. What only looks like a version stays: addresses, and versions of npm packages in a lock. PURE.
 */
export function withVersion(text: string, from: string, to: string): string {
  if (text.startsWith('{\n  "name": "clusterset-proxy",\n')) {
    // package.json and its lock: before the first package, and no dependency of the same version.
    const [own = "", ...packages] = text.split('"node_modules/');
    return [own.replaceAll(`"version": "${from}"`, `"version": "${to}"`), ...packages].join(
      '"node_modules/',
    );
  }
  return replaced(replaced(text, nextPatch(from), nextPatch(to)), from, to);
}

function replaced(text: string, from: string, to: string): string {
  const escaped = from.replaceAll(".", "\\.");
  return text.replaceAll(new RegExp(`(?<![\\d.])${escaped}(?!\\d|\\.\\d)`, "g"), to);
}

function nextPatch(version: string): string {
  return version.replace(/\d+$/, (patch) => `${Number(patch) + 1}`);
}
