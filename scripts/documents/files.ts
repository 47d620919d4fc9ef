import { DASHBOARDS } from "../monitoring/dashboards/all.ts";
import { dashboardOf } from "../monitoring/dashboards/dashboard.ts";
import { prometheusRule, rulesFile } from "../monitoring/rules.ts";
import { pluginReference } from "./plugin-reference.ts";

/** A file that is made from the code as a whole. */
export interface GeneratedFile {
  /** Path, from the root of the tree. */
  readonly path: string;
  readonly text: string;
}

/** Every file that is made from the code as a whole. */
export const FILES: readonly GeneratedFile[] = [
  { path: "docs/PLUGIN.md", text: pluginReference() },
  { path: "deploy/monitoring/rules.yaml", text: rulesFile() },
  { path: "deploy/components/monitoring/rules.yaml", text: prometheusRule() },
  ...DASHBOARDS.map((spec) => ({
    path: `deploy/monitoring/dashboards/${spec.name}.json`,
    text: `${JSON.stringify(dashboardOf(spec), undefined, 2)}\n`,
  })),
];
