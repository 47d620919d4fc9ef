import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { isVersion, versionFiles, withVersion } from "./version/version-files.ts";

// Sets the version of the next release in all files that name it: node scripts/version.ts 0.2.0
// Then write what is made of them: node scripts/charts.ts --write, node scripts/manifests.ts --write.

const root = join(import.meta.dirname, "..");
const [to = ""] = process.argv.slice(2);
if (!isVersion(to)) throw new Error(`expected a version such as 0.2.0, not "${to}"`);
for (const file of versionFiles(root)) {
  const path = join(root, file);
  writeFileSync(path, withVersion(readFileSync(path, "utf8"), packageJson.version, to));
  console.log(file);
}
