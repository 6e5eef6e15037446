{{- define "type" -}}
{{- $type := . -}}
{{- if markdownShouldRenderType $type }}
## {{ $type.Name }}

{{ $type.Doc }}
{{ if $type.References }}
Part of
{{- range $i, $ref := $type.SortedReferences }}{{ if $i }},{{ end }} {{ markdownRenderTypeLink $ref }}{{ end }}.
{{ end }}
{{- if $type.Members }}
| field | type | what it is | allowed |
|---|---|---|---|
{{ if $type.GVK -}}
| `apiVersion` | string | `{{ $type.GVK.Group }}/{{ $type.GVK.Version }}` | |
| `kind` | string | `{{ $type.GVK.Kind }}` | |
{{ end -}}
{{ range $type.Members -}}
| `{{ .Name }}` | {{ markdownRenderType .Type }} | {{ template "type_members" . }} | {{ $optional := false }}{{ range .Validation }}{{ if hasPrefix "Optional" . }}{{ $optional = true }}{{ end }}{{ end }}{{ if not $optional }}required<br />{{ end }}{{ with .Default }}default {{ markdownRenderDefault . }}<br />{{ end }}{{ range .Validation }}{{ if not (hasPrefix "Optional" .) }}{{ markdownRenderFieldDoc . }}<br />{{ end }}{{ end }} |
{{ end -}}
{{ end -}}
{{- if $type.EnumValues }}
| value | what it is |
|---|---|
{{ range $type.EnumValues -}}
| `{{ .Name }}` | {{ markdownRenderFieldDoc .Doc }} |
{{ end -}}
{{ end -}}
{{- end -}}
{{- end -}}
