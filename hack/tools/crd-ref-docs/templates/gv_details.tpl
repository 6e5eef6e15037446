{{- define "gvDetails" }}
Everything is in `{{ .GroupVersionString }}`. The kinds:
{{ range .SortedKinds }}
- {{ $.TypeForKind . | markdownRenderTypeLink }}
{{- end }}

What is not required may be left out.
{{ range .SortedTypes }}{{ template "type" . }}{{ end }}
{{- end -}}
