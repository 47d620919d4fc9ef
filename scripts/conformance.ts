import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import type { CaseResult } from "./conformance/case-result.ts";
import { report } from "./conformance/report.ts";

// Runs the conformance cases on two real clusters and writes the report, in the format and place of sig-multicluster-site:
//   node scripts/conformance.ts [FOLDER]   by default dist/reports
// Exits with status 1 if a required case did not pass. Needs what test/e2e needs: root, scripts/prepare lab.

const ROOT = join(import.meta.dirname, "..");
/** mcs-api's release whose suite has these cases; deploy/crds has its CRDs. */
const MCS_API = "v0.5.2";

const [folder = join(ROOT, "dist/reports")] = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), "clusterset-proxy-conformance-"));
try {
  const results = join(work, "results.jsonl");
  const argv = [
    ...["--test-reporter=spec", "--test-reporter-destination=stderr"],
    `--test-reporter=${join(ROOT, "scripts/conformance/reporter.ts")}`,
    `--test-reporter-destination=${results}`,
    join(ROOT, "test/e2e/conformance.test.ts"),
  ];
  // Its status says nothing of the cases: the file has other tests, too.
  const env = { ...process.env, CONFORMANCE_REPORT: "all cases" };
  spawnSync(process.execPath, ["--test", ...argv], { stdio: "inherit", env });
  const lines = readFileSync(results, "utf8").split("\n").filter(Boolean);
  const { text, isConformant } = report(
    lines.map((line): CaseResult => JSON.parse(line)),
    {
      organization: "clusterset-proxy",
      project: packageJson.name,
      version: `v${packageJson.version}`,
      url: "",
    },
  );
  const file = join(folder, MCS_API, packageJson.name, `${packageJson.version}.yaml`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  console.log(`${file}: ${isConformant ? "conformant" : "NOT conformant"}`);
  process.exitCode = isConformant ? 0 : 1;
} finally {
  rmSync(work, { recursive: true });
}
