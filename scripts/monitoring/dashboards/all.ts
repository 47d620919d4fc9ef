import { CLUSTER } from "./cluster.ts";
import { CLUSTERSET } from "./clusterset.ts";
import { IMPORTS } from "./imports.ts";
import { NODE } from "./node.ts";
import type { DashboardSpec } from "./panel.ts";

/** All dashboards, the most general first. */
export const DASHBOARDS: readonly DashboardSpec[] = [CLUSTERSET, CLUSTER, NODE, IMPORTS];
