{{- define "type_members" -}}
{{- if eq .Name "metadata" -}}
As of any object.
{{- else -}}
{{ markdownRenderFieldDoc .Doc | replace "<br />" " " }}
{{- end -}}
{{- end -}}
