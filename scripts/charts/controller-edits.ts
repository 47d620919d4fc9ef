import { block, podEdits, variables } from "./pod-edits.ts";
import type { Edit } from "./template.ts";

const HUB = '{{- if eq .Values.registry.mode "hub" }}\n';

/** Whether the controller changes startup taints. Values that an upgrade takes from an earlier release say nothing of it. */
export const STARTUP_TAINT = 'has .Values.startupTaint (list "new-nodes" "restarted-nodes")';

/** What values of the chart change in deploy/base/controller.yaml: the same as deploy/overlays/hub and components. */
export const CONTROLLER_EDITS: readonly Edit[] = [
  ...podEdits(
    "controller",
    `          resources:
            requests: { cpu: 50m, memory: 128Mi }
            limits: { memory: 1Gi }
`,
  ),
  { replace: "  replicas: 2\n", by: "  replicas: {{ .Values.controller.replicas }}\n" },
  {
    replace: "      enableServiceLinks: false\n",
    by: `      {{- if ${STARTUP_TAINT} }}
      tolerations:
        # In a new cluster, all nodes have the taint that the controller removes.
        - { key: clusterset-proxy.io/agent-not-ready, operator: Exists }
        {{- with .Values.controller.tolerations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- else }}
${block(6, "tolerations", ".Values.controller.tolerations")}      {{- end }}
      enableServiceLinks: false\n`,
  },
  {
    replace: "        runAsUser: 65532\n        runAsGroup: 65532\n",
    by: `        {{- if not .Values.openshift }}
        runAsUser: 65532
        runAsGroup: 65532
        {{- end }}
`,
  },
  {
    replace:
      '            # For probes and Prometheus; network-policy.yaml excludes other clients. IPv6-only pods need "[::]:10270".\n',
    by: "            # For probes and Prometheus; the NetworkPolicy excludes other clients.\n",
  },
  {
    replace: "              value: 0.0.0.0:10270\n",
    by: `              value: {{ ternary "[::]:10270" "0.0.0.0:10270" .Values.ipv6Only | quote }}
            ${HUB}            - name: CLUSTERSET_CONTROLLER_REGISTRY
              value: hub
            - name: CLUSTERSET_CONTROLLER_HUB_KUBECONFIG
              value: /etc/clusterset/hub.kubeconfig
            {{- end }}
${variables("controller", ` "startup-taint" (ternary .Values.startupTaint "" (${STARTUP_TAINT}))`)}`,
  },
  {
    replace: "            capabilities: { drop: [ALL] }\n",
    by: `            capabilities: { drop: [ALL] }
          ${HUB}          volumeMounts:
            - { name: hub, mountPath: /etc/clusterset, readOnly: true }
          {{- end }}
      ${HUB}      volumes:
        - name: hub
          # Readable for the controller's user, which is not root.
          secret: { secretName: {{ .Values.registry.hubSecret | quote }}, defaultMode: 0444 }
      {{- end }}
`,
  },
];
