{{- /*
Why a CRD in the cluster stays as it is; empty if this release installs it. The same rules as those of deploy/crds/install: a CRD is
newer if its labels of mcs-api are, or if it has an API version that ours lacks.
*/ -}}
{{- define "clusterset-crds.stays" -}}
{{- $theirs := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" .crd.metadata.name }}
{{- if $theirs }}
{{- $owner := dig "metadata" "annotations" "meta.helm.sh/release-name" "" $theirs }}
{{- $namespace := dig "metadata" "annotations" "meta.helm.sh/release-namespace" "" $theirs }}
{{- $isOurs := and (eq $owner .context.Release.Name) (eq $namespace .context.Release.Namespace) }}
{{- $versions := list }}
{{- range .crd.spec.versions }}{{ $versions = append $versions .name }}{{ end }}
{{- $others := list }}
{{- range $theirs.spec.versions }}{{ if not (has .name $versions) }}{{ $others = append $others .name }}{{ end }}{{ end }}
{{- $older := include "clusterset-crds.release" .crd }}
{{- $newer := include "clusterset-crds.release" $theirs }}
{{- if not (or $isOurs .context.Values.adopt) -}}
this release did not install it
{{- else if $others -}}
it has the API version {{ first $others }}, which this chart lacks
{{- else if semverCompare (printf "> %s" $older) $newer -}}
it is of a later release of mcs-api
{{- end }}
{{- end }}
{{- end }}

{{- /* mcs-api's release and revision of a CRD as one version, 0.5.2-1; 0.0.0-0 without labels, because mcs-api has them since 0.4.0. */ -}}
{{- define "clusterset-crds.release" -}}
{{- $release := dig "metadata" "labels" "multicluster.x-k8s.io/release-version" "v0.0.0" . }}
{{- $revision := dig "metadata" "labels" "multicluster.x-k8s.io/crd-schema-revision" "0" . }}
{{- printf "%s-%s" ($release | trimPrefix "v") $revision }}
{{- end }}
