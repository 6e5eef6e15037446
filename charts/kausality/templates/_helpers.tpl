{{/* The chart and its version, as the value of a label. */}}
{{- define "kausality.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The image, by digest where there is one. */}}
{{- define "kausality.image" -}}
{{- $repository := required "image.repository is empty: name the image of the operator, such as --set image.repository=registry.example.com/kausality" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
