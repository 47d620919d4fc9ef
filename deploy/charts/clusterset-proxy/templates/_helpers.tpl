{{- define "clusterset-proxy.labels" -}}
app.kubernetes.io/part-of: clusterset-proxy
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* The name of an image, by digest if there is one. */ -}}
{{- define "clusterset-proxy.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .version }}
{{- end }}
{{- end }}

{{- /* Environment variables of flags; empty flags are left out. Large numbers of a values file are floats: no exponents. */ -}}
{{- define "clusterset-proxy.variables" -}}
{{- range $flag, $value := .flags }}
{{- $text := kindIs "float64" $value | ternary (int64 $value) $value | toString }}
{{- if $text }}
- { name: {{ $.prefix }}{{ $flag | replace "-" "_" | upper }}, value: {{ $text | quote }} }
{{- end }}
{{- end }}
{{- end }}

{{- /* Whether the agent serves its pages on the node's address: also for a Prometheus that scrapes it. */ -}}
{{- define "clusterset-proxy.pages-on-node" -}}
{{- if or .Values.agent.pagesOnNodeAddress (ne .Values.monitoring.kind "none") }}true{{ end }}
{{- end }}

{{- define "clusterset-proxy.cluster-id" -}}
{{ required "registry.create needs identity.cluster, the ID of this cluster" .Values.identity.cluster }}
{{- end }}
