{{- define "quiclens.labels" -}}
app.kubernetes.io/name: quiclens
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "quiclens.selector" -}}
app.kubernetes.io/name: quiclens
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "quiclens.name" -}}
{{- printf "%s-%s" .root.Release.Name .component | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* image: collector or web */}}
{{- define "quiclens.image" -}}
{{- $image := .root.Values.image }}
{{- $name := printf "quiclens-%s" .image }}
{{- if $image.registry }}{{ $name = printf "%s/%s" (trimSuffix "/" $image.registry) $name }}{{ end }}
{{- with index $image.digests .image }}{{ printf "%s@%s" $name . }}{{ else }}{{ printf "%s:%s" $name ($image.tag | default $.root.Chart.AppVersion) }}{{ end }}
{{- end }}

{{- define "quiclens.container" -}}
image: {{ include "quiclens.image" . | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* uid: 10001 where none is given; groups: more that it has */}}
{{- define "quiclens.pod" -}}
{{- $uid := .uid | default 10001 }}
automountServiceAccountToken: false
serviceAccountName: {{ include "quiclens.name" . }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ $uid }}
  runAsGroup: {{ $uid }}
  fsGroup: {{ $uid }}
  {{- with .groups }}
  supplementalGroups: {{ toJson . }}
  {{- end }}
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "quiclens.account" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "quiclens.name" . }}
  labels: {{ include "quiclens.labels" . | nindent 4 }}
automountServiceAccountToken: false
{{- end }}

{{/* user: of store.users */}}
{{- define "quiclens.store" -}}
{{- $store := .root.Values.store }}
{{- $user := index $store.users .user }}
- name: QUICLENS_STORE
  value: {{ printf "%s://%s@%s" (ternary "https" "http" $store.tls) $user.name (required "store.address: where ClickHouse is, host:port/database" $store.address) | quote }}
- name: QUICLENS_STORE_PASSWORD_FILE
  value: /run/secrets/store/password
{{- if $store.caSecret }}
- name: SSL_CERT_FILE
  value: /run/secrets/store-ca/ca.crt
{{- end }}
{{- end }}

{{/* The [kafka] of ingest.toml and migrate.toml, and the options of the collector's sink. user: of kafka.users */}}
{{- define "quiclens.librdkafka" -}}
{{- $kafka := .root.Values.kafka }}
"security.protocol" = {{ $kafka.securityProtocol | quote }}
"sasl.mechanism" = {{ $kafka.saslMechanism | quote }}
"sasl.username" = {{ (index $kafka.users .user).name | quote }}
{{- if $kafka.caSecret }}
"ssl.ca.location" = "/run/secrets/kafka-ca/ca.crt"
{{- end }}
{{- end }}

{{- define "quiclens.brokers" -}}
{{ required "kafka.brokers: where Kafka is, a:9093,b:9093" .root.Values.kafka.brokers | quote }}
{{- end }}

{{/* secrets: a list of [name of the mount, Secret] */}}
{{- define "quiclens.secret-mounts" -}}
{{- range .secrets }}{{ if index . 1 }}
- name: {{ index . 0 }}
  mountPath: /run/secrets/{{ index . 0 }}
  readOnly: true
{{- end }}{{ end }}
{{- end }}

{{- define "quiclens.secret-volumes" -}}
{{- range .secrets }}{{ if index . 1 }}
- name: {{ index . 0 }}
  secret: {secretName: {{ index . 1 | quote }}, defaultMode: 0440}
{{- end }}{{ end }}
{{- end }}
