{{- define "gvList" -}}
# API reference

For people who write policies, or programs that read records. After this page you know each field, what it may hold, and
what it is where it is left out. It is written by `make api-reference` from the types in
[`api/v1alpha1`](../api/v1alpha1); [allowancepolicy.md](allowancepolicy.md) and
[allowancerecord.md](allowancerecord.md) say how to use them.
{{ range . }}{{ template "gvDetails" . }}{{ end }}
{{- end -}}
