import { stringify } from "yaml";
import { AGENT_ALERTS } from "./agent-alerts.ts";
import type { Alert } from "./alert.ts";
import { CONTROLLER_ALERTS } from "./controller-alerts.ts";
import { CREDENTIAL_ALERTS } from "./credential-alerts.ts";
import { runbook } from "./runbook.ts";

/** All alerts, by the name of their group. */
export const ALERTS: Readonly<Record<string, readonly Alert[]>> = {
  "clusterset-agent": AGENT_ALERTS,
  "clusterset-controller": CONTROLLER_ALERTS,
  "clusterset-credentials": CREDENTIAL_ALERTS,
};

const GENERATED =
  "# Generated from scripts/monitoring/ by `node scripts/documents.ts --write`: do not edit.\n";

/** A rules file of Prometheus, as in its `rule_files`. PURE. */
export function rulesFile(): string {
  return text("Alerts for Prometheus without its operator: name this file in rule_files.", {
    groups: groups(),
  });
}

/** The same as an object of the Prometheus Operator. PURE. */
export function prometheusRule(): string {
  return text("Alerts for the Prometheus Operator.", {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: {
      name: "clusterset-proxy",
      namespace: "clusterset-proxy",
      labels: { "app.kubernetes.io/part-of": "clusterset-proxy" },
    },
    spec: { groups: groups() },
  });
}

function groups() {
  return Object.entries(ALERTS).map(([name, alerts]) => ({ name, rules: alerts.map(ruleOf) }));
}

function ruleOf({ alert, expr, for: time, severity, summary, description, ...to }: Alert) {
  return {
    alert,
    expr,
    ...(time !== undefined && { for: time }),
    labels: { severity },
    annotations: { summary, description, runbook_url: runbook(to.runbook) },
  };
}

function text(about: string, content: object): string {
  return `# ${about}\n${GENERATED}${stringify(content, { lineWidth: 0 })}`;
}
