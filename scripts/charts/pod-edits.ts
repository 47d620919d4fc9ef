import type { Edit } from "./template.ts";

/** Ports of the pages. */
const PORTS = { agent: 10_269, controller: 10_270 } as const;

/** Edits for values that agent and controller both have, in a manifest with one pod template and one container. */
export function podEdits(program: "agent" | "controller", resources: string): readonly Edit[] {
  const values = `.Values.${program}`;
  const priority = { agent: "system-node-critical", controller: "system-cluster-critical" };
  return [
    {
      replace: `      labels: { app.kubernetes.io/name: clusterset-${program} }
      annotations: { kubectl.kubernetes.io/default-container: ${program} }
    spec:
`,
      by: `      labels:
        app.kubernetes.io/name: clusterset-${program}
        {{- with ${values}.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        kubectl.kubernetes.io/default-container: ${program}
        {{- if eq .Values.monitoring.kind "annotations" }}
        prometheus.io/scrape: "true"
        prometheus.io/port: "${PORTS[program]}"
        prometheus.io/path: /metrics
        {{- end }}
        {{- with ${values}.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
${block(6, "imagePullSecrets", ".Values.imagePullSecrets")}`,
    },
    {
      replace: `      priorityClassName: ${priority[program]}\n`,
      by: `      priorityClassName: {{ ${values}.priorityClassName | quote }}\n`,
    },
    {
      replace: "      nodeSelector: { kubernetes.io/os: linux }\n",
      by: block(6, "nodeSelector", `${values}.nodeSelector`),
    },
    {
      replace: `          image: clusterset-${program}
          imagePullPolicy: IfNotPresent
`,
      by: `          image: {{ include "clusterset-proxy.image" (dict "image" ${values}.image "version" .Chart.AppVersion) | quote }}
          imagePullPolicy: {{ ${values}.image.pullPolicy }}
`,
    },
    { replace: resources, by: block(10, "resources", `${values}.resources`) },
  ];
}

/** A field of a pod or container with the content of a value, absent if that is empty. */
export function block(indent: number, field: string, value: string): string {
  const space = " ".repeat(indent);
  return `${space}{{- with ${value} }}
${space}${field}:
${space}  {{- toYaml . | nindent ${indent + 2} }}
${space}{{- end }}
`;
}

/** Environment variables of a program's flags: those that have a value of their own in the chart, and `flags`. */
export function variables(program: "agent" | "controller", own = ""): string {
  const flags = `(dict "clusterset-cidr" (join "," .Values.clustersetCIDRs) "explicit-vip-cidrs" (join "," .Values.explicitVIPCIDRs)${own})`;
  const prefix = `CLUSTERSET_${program.toUpperCase()}_`;
  return `            {{- include "clusterset-proxy.variables" (dict "prefix" "${prefix}" "flags" (merge ${flags} .Values.${program}.flags)) | nindent 12 }}\n`;
}
