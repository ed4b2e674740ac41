{{- define "headgate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 52 characters: "-management" is added to it. */}}
{{- define "headgate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains (include "headgate.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "headgate.name" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "headgate.selectorLabels" -}}
app.kubernetes.io/name: {{ include "headgate.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "headgate.labels" -}}
{{ include "headgate.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end -}}

{{- define "headgate.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "headgate.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "headgate.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Numbers come as floats, which are printed with an exponent from a million on. */}}
{{- define "headgate.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}
{{- int64 . -}}
{{- else -}}
{{- toString . -}}
{{- end -}}
{{- end -}}

{{- define "headgate.fromFiles" -}}
{{- if eq .Values.configuration.from "files" }}true{{ end -}}
{{- end -}}

{{- define "headgate.configMap" -}}
{{- default (printf "%s-configuration" (include "headgate.fullname" .)) .Values.configuration.existingConfigMap -}}
{{- end -}}

{{/* In seconds, rounded up. */}}
{{- define "headgate.gracePeriod" -}}
{{- if not (kindIs "invalid" .Values.terminationGracePeriodSeconds) -}}
{{- int64 .Values.terminationGracePeriodSeconds -}}
{{- else -}}
{{- $grace := int64 (default 0 .Values.settings.GATEWAY_PROXY__DRAIN_GRACE_MS) -}}
{{- $timeout := 30000 -}}
{{- if hasKey .Values.settings "GATEWAY_PROXY__DRAIN_TIMEOUT_MS" -}}
{{- $timeout = int64 .Values.settings.GATEWAY_PROXY__DRAIN_TIMEOUT_MS -}}
{{- end -}}
{{- add (div (add $grace $timeout 999) 1000) 10 -}}
{{- end -}}
{{- end -}}

{{/* The management listener speaks TLS when a certificate is set for it. */}}
{{- define "headgate.managementScheme" -}}
{{- if .Values.settings.GATEWAY_SERVER__TLS__CERT_FILE }}HTTPS{{ else }}HTTP{{ end -}}
{{- end -}}

{{/* The same for the init container and the gateway. */}}
{{- define "headgate.env" -}}
{{- if and .Values.tls.existingSecret .Values.settings.GATEWAY_PROXY__TLS__CERT_FILE }}
{{- fail "tls.existingSecret and settings.GATEWAY_PROXY__TLS__CERT_FILE exclude each other" }}
{{- end }}
- name: GATEWAY_SERVER__HOST
  value: 0.0.0.0
- name: GATEWAY_CLUSTER__NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- if include "headgate.fromFiles" . }}
- name: GATEWAY_CONFIG_FILE
  value: /etc/headgate/configuration
# Unset: the image names a file of SQLite.
- name: GATEWAY_DATABASE_URL
  value: ''
{{- else }}
- name: GATEWAY_SNAPSHOT_FILE
  value: /var/lib/headgate/headgate.snapshot
{{- end }}
{{- if .Values.tls.existingSecret }}
- name: GATEWAY_PROXY__TLS__PORT
  value: '8443'
- name: GATEWAY_PROXY__TLS__CERT_FILE
  value: /etc/headgate/tls/tls.crt
- name: GATEWAY_PROXY__TLS__KEY_FILE
  value: /etc/headgate/tls/tls.key
{{- end }}
{{- if and .Values.secretKeys.GATEWAY_REDIS_URL (not (hasKey .Values.settings "GATEWAY_LIMITS__NODES")) }}
# For a start while the store is away; otherwise the gateways are counted there.
- name: GATEWAY_LIMITS__NODES
  value: {{ ternary .Values.autoscaling.minReplicas .Values.replicaCount .Values.autoscaling.enabled | quote }}
{{- end }}
{{- range $name, $value := .Values.settings }}
{{- if not (kindIs "invalid" $value) }}
- name: {{ $name }}
  value: {{ include "headgate.text" $value | quote }}
{{- end }}
{{- end }}
{{- range $name, $key := .Values.secretKeys }}
{{- if and $key (not (and (include "headgate.fromFiles" $) (has $name (list "GATEWAY_DATABASE_URL" "GATEWAY_SECRET_KEY")))) }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $.Values.existingSecret | quote }}
      key: {{ $key | quote }}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "headgate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "headgate.volumeMounts" -}}
- name: data
  mountPath: /var/lib/headgate
- name: tmp
  mountPath: /tmp
{{- if include "headgate.fromFiles" . }}
- name: configuration
  mountPath: /etc/headgate/configuration
  readOnly: true
{{- end }}
{{- if .Values.tls.existingSecret }}
- name: tls
  mountPath: /etc/headgate/tls
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}
