import { cpSync, globSync, mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { output, ROOT } from "./output.ts";

const CHARTS = ["clusterset-crds", "clusterset-proxy"];

/**
 * Packages the charts with this Helm; returns their paths. `epoch`: seconds since 1970, the time of all files in the archives, which
 * are then equal for equal charts: Helm takes it from the files, which have that of the checkout.
 */
export function packageCharts(folder: string, helm: string, epoch: number): string[] {
  const work = mkdtempSync(join(tmpdir(), "clusterset-proxy-charts-"));
  try {
    return CHARTS.map((chart) => {
      const copy = join(work, chart);
      cpSync(join(ROOT, "deploy/charts", chart), copy, { recursive: true });
      for (const path of globSync(`${copy}/**`)) utimesSync(path, epoch, epoch);
      const said = output(helm, ["package", copy, "--destination", folder]);
      const [, file] = /saved it to: (.*)/.exec(said) ?? [];
      if (file === undefined) throw new Error(`helm package: ${said}`);
      return file;
    });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
