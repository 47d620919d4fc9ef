import { block, podEdits, variables } from "./pod-edits.ts";
import type { Edit } from "./template.ts";

/** What values of the chart change in deploy/base/agent.yaml: the same as components of deploy/. */
export const AGENT_EDITS: readonly Edit[] = [
  ...podEdits(
    "agent",
    `          resources:
            # 80 MB at rest, 200 to 250 MB with 10,000 services (docs/BENCHMARKS.md); iptables-restore needs memory in addition.
            requests: { cpu: 50m, memory: 128Mi }
            limits: { memory: 768Mi }
`,
  ),
  {
    replace: "maxUnavailable: 10%, maxSurge: 0 }",
    by: "maxUnavailable: {{ .Values.agent.maxUnavailable }}, maxSurge: 0 }",
  },
  {
    replace: "      tolerations:\n        - { operator: Exists }\n",
    by:
      block(6, "tolerations", ".Values.agent.tolerations") +
      block(6, "affinity", ".Values.agent.affinity"),
  },
  {
    replace: "              value: /run/clusterset-proxy/agent.lock\n",
    by: `              value: /run/clusterset-proxy/agent.lock
            {{- if include "clusterset-proxy.pages-on-node" . }}
            - name: HOST_IP
              valueFrom: { fieldRef: { apiVersion: v1, fieldPath: status.hostIP } }
            - name: CLUSTERSET_AGENT_HTTP_ADDRESS
              value: {{ ternary "[$(HOST_IP)]:10269" "$(HOST_IP):10269" .Values.ipv6Only | quote }}
            {{- end }}
${variables("agent", ' "backend" (join "," .Values.agent.backends)')}`,
  },
  {
    replace: "      securityContext:\n        seccompProfile: { type: RuntimeDefault }\n",
    by: `      securityContext:
        seccompProfile: { type: RuntimeDefault }
        {{- if .Values.openshift }}
        # SELinux denies ordinary containers the host's paths.
        seLinuxOptions: { type: spc_t }
        {{- end }}
`,
  },
  {
    // Without a host, probes use the pod's address, which is the node's.
    replace: "{ host: 127.0.0.1, port: http,",
    by: '{ {{ if not (include "clusterset-proxy.pages-on-node" .) }}host: 127.0.0.1, {{ end }}port: http,',
    times: 3,
  },
  {
    replace: `            # If a node's security module forbids it: deploy/components/privileged.
            privileged: false
            allowPrivilegeEscalation: false
`,
    by: `            # A fallback for nodes whose security module forbids what the capability allows.
            privileged: {{ .Values.agent.privileged }}
            allowPrivilegeEscalation: {{ .Values.agent.privileged }}
`,
  },
  {
    replace: `              # Tables and connection tracking. For iptables-legacy: deploy/components/net-raw.
              add: [NET_ADMIN]
`,
    by: `              # Tables and connection tracking. NET_RAW is for iptables-legacy, and SYS_ADMIN for preflight in pods' networks.
              add: [NET_ADMIN{{ if .Values.agent.netRaw }}, NET_RAW{{ end }}{{ if .Values.agent.preflight }}, SYS_ADMIN{{ end }}]
`,
  },
  {
    replace: "            - { name: xtables-lock, mountPath: /run/xtables.lock }\n",
    by: `            - { name: xtables-lock, mountPath: /run/xtables.lock }
            {{- if has "ipvs" .Values.agent.backends }}
            # A pod's own /proc/sys is read-only. The agent sets sysctls here.
            - { name: proc-sys-net, mountPath: /host/proc/sys/net }
            {{- end }}
            {{- if .Values.agent.preflight }}
            - { name: netns, mountPath: /run/netns, mountPropagation: HostToContainer, readOnly: true }
            {{- end }}
`,
  },
  {
    replace: "          hostPath: { path: /run/xtables.lock, type: FileOrCreate }\n",
    by: `          hostPath: { path: /run/xtables.lock, type: FileOrCreate }
        {{- if has "ipvs" .Values.agent.backends }}
        - name: proc-sys-net
          hostPath: { path: /proc/sys/net, type: Directory }
        {{- end }}
        {{- if .Values.agent.preflight }}
        - name: netns
          hostPath: { path: /run/netns, type: DirectoryOrCreate }
        {{- end }}
`,
  },
];
