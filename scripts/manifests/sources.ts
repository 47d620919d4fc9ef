import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import packageJson from "../../package.json" with { type: "json" };

const DEPLOY = join(import.meta.dirname, "../../deploy");

/**
 * A digest of the files of deploy, except charts. The rendered manifests carry it, so that `make check` sees without kubectl that
 * they are behind. The version of this release does not count: a release replaces it in the files and in the manifests.
 */
export function sourcesDigest(): string {
  const hash = createHash("sha256");
  const files = readdirSync(DEPLOY, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(DEPLOY, join(entry.parentPath, entry.name)))
    .filter((path) => !path.startsWith("charts/"));
  for (const path of files.toSorted()) {
    const text = readFileSync(join(DEPLOY, path), "utf8");
    hash.update(`${path}\0${text.replaceAll(packageJson.version, "VERSION")}\0`);
  }
  return hash.digest("hex");
}
