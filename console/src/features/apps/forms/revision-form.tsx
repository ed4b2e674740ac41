/** The fields of a revision: its backend, its traffic, and when it counts as failing. */
import type { ReactNode } from 'react';
import {
  appsWords,
  backendProtocols,
  balancingWords,
  cloneWords,
  discoveryWords,
  fieldWords,
  probeProtocols,
} from '../../../text/apps.ts';
import { FieldGrid } from '../../../ui/controls/field.tsx';
import { FormChoice, FormField, FormGroup, FormText, RecordForm } from './form-fields.tsx';
import { REVISION_FIELDS } from './record-fields.ts';
import { useCreateForm, type FormState } from './use-record-form.ts';

const SCHEMES = ['https', 'http'].map((value) => ({ value, label: value }));
const PROTOCOLS = ['http1', 'h2', 'auto'].map((value) => ({
  value,
  label: backendProtocols[value as keyof typeof backendProtocols],
}));
const PROBE_PROTOCOLS = ['', 'http', 'grpc'].map((value) => ({
  value,
  label: probeProtocols[value as keyof typeof probeProtocols],
}));
const ALGORITHMS = ['', 'least_requests', 'round_robin', 'hash'].map((value) => ({
  value,
  label: balancingWords.algorithms[value as keyof typeof balancingWords.algorithms],
}));
const HASHED = ['', 'header', 'cookie', 'claim', 'path', 'ip'].map((value) => ({
  value,
  label: balancingWords.hashed[value as keyof typeof balancingWords.hashed],
}));
const SOURCES = ['', 'dns', 'dns_srv', 'file'].map((value) => ({
  value,
  label: discoveryWords.sources[value as keyof typeof discoveryWords.sources],
}));
/** The fields of each type of discovery. */
const SOURCE_FIELDS: Readonly<Record<string, readonly string[]>> = {
  dns: ['/discovery/host', '/discovery/port'],
  dns_srv: ['/discovery/name'],
  file: ['/discovery/path'],
};
const { groups } = appsWords;

export function RevisionFields({ form }: { readonly form: FormState }): ReactNode {
  return (
    <>
      <FieldGrid>
        <FormField form={form} at="/revision" required />
      </FieldGrid>
      <BackendFields form={form} />
      <FormGroup title={groups.traffic}>
        <FieldGrid>
          <FormField form={form} at="/traffic_weight" />
        </FieldGrid>
        <FormField form={form} at="/is_current" />
      </FormGroup>
      <TargetFields form={form} />
      {form.value('/backend_scheme') === 'https' && <TlsFields form={form} />}
      <HealthFields form={form} />
    </>
  );
}

export function BackendFields({ form }: { readonly form: FormState }): ReactNode {
  const isDiscovered = form.value('/discovery/type') !== '';
  return (
    <FormGroup title={groups.backend}>
      <FieldGrid>
        <FormChoice form={form} at="/backend_scheme" choices={SCHEMES} />
        <FormChoice form={form} at="/backend_protocol" choices={PROTOCOLS} />
        {!isDiscovered && <FormField form={form} at="/backend_host" required />}
        {!isDiscovered && <FormField form={form} at="/backend_port" />}
        <FormField form={form} at="/backend_base_path" />
      </FieldGrid>
      <FormField form={form} at="/strip_gateway_path" />
      <FormField form={form} at="/preserve_host" />
    </FormGroup>
  );
}

/** Several targets for the revision, written or looked up, in place of the one of its backend. */
export function TargetFields({ form }: { readonly form: FormState }): ReactNode {
  const source = String(form.value('/discovery/type'));
  const isHashed = form.value('/load_balancing/algorithm') === 'hash';
  return (
    <FormGroup title={groups.targets}>
      <FieldGrid>
        <FormChoice form={form} at="/discovery/type" choices={SOURCES} />
        {(SOURCE_FIELDS[source] ?? []).map((at) => (
          <FormField key={at} form={form} at={at} />
        ))}
      </FieldGrid>
      {source === '' && <FormField form={form} at="/targets" />}
      <FieldGrid>
        <FormChoice form={form} at="/load_balancing/algorithm" choices={ALGORITHMS} />
        {isHashed && <FormChoice form={form} at="/load_balancing/hash/by" choices={HASHED} />}
        {isHashed && <FormField form={form} at="/load_balancing/hash/name" />}
        {isHashed && form.value('/load_balancing/hash/by') === 'cookie' && (
          <FormField form={form} at="/load_balancing/hash/ttl_secs" />
        )}
        <FormField form={form} at="/load_balancing/slow_start_secs" />
        <FormField form={form} at="/load_balancing/max_connections" />
        <FormField form={form} at="/load_balancing/max_waiting" />
      </FieldGrid>
      <FormField form={form} at="/load_balancing/ejection/enabled" />
      {form.value('/load_balancing/ejection/enabled') === true && <EjectionFields form={form} />}
    </FormGroup>
  );
}

const EJECTION_FIELDS = ['consecutive_failures', 'failure_percent', 'min_requests', 'base_secs', 'max_secs'];

function EjectionFields({ form }: { readonly form: FormState }): ReactNode {
  return (
    <>
      <FieldGrid>
        {EJECTION_FIELDS.map((name) => (
          <FormField key={name} form={form} at={`/load_balancing/ejection/${name}`} />
        ))}
      </FieldGrid>
      <FormField form={form} at="/load_balancing/ejection/count_5xx" />
    </>
  );
}

export function TlsFields({ form }: { readonly form: FormState }): ReactNode {
  return (
    <FormGroup title={groups.tls}>
      <FormField form={form} at="/backend_tls/verify" />
      <FieldGrid>
        <FormField form={form} at="/backend_tls/server_name" />
        <FormField form={form} at="/backend_tls/client_certificate" />
        <FormField form={form} at="/backend_tls/pins" />
      </FieldGrid>
      <FormText form={form} at="/backend_tls/ca" />
    </FormGroup>
  );
}

const HEALTH_FIELDS = [
  '/health_check_path',
  '/circuit_breaker/probe/interval_ms',
  '/circuit_breaker/probe/timeout_ms',
  '/circuit_breaker/probe/expected_statuses',
  '/circuit_breaker/probe/healthy_threshold',
  '/circuit_breaker/probe/unhealthy_threshold',
  '/circuit_breaker/failures',
  '/circuit_breaker/open_secs',
  '/circuit_breaker/recovery_secs',
];

export function HealthFields({ form }: { readonly form: FormState }): ReactNode {
  const isGrpc = form.value('/circuit_breaker/probe/protocol') === 'grpc';
  const hasService = isGrpc || form.value('/circuit_breaker/probe/service') !== '';
  return (
    <FormGroup title={groups.health}>
      <FieldGrid>
        <FormChoice form={form} at="/circuit_breaker/probe/protocol" choices={PROBE_PROTOCOLS} />
        {hasService && <FormField form={form} at="/circuit_breaker/probe/service" />}
        {HEALTH_FIELDS.map((at) => (
          <FormField key={at} form={form} at={at} />
        ))}
      </FieldGrid>
      <FormField form={form} at="/circuit_breaker/count_5xx" />
    </FormGroup>
  );
}

export interface CreateProps {
  readonly app: string;
  readonly version: string;
  readonly onCreated: (revision: string) => void;
  readonly onCancel: () => void;
}

interface CloneProps extends CreateProps {
  /** The fields for the clone: the revision without its own fields. */
  readonly original: Readonly<Record<string, unknown>>;
  readonly label: string;
}

/** Asks only for the label; everything else can be changed on the page of the clone. */
export function CloneRevisionForm({
  app,
  version,
  original,
  label,
  onCreated,
  onCancel,
}: CloneProps): ReactNode {
  const form = useCreateForm({
    title: cloneWords.title(label),
    operation: '/apps/{app_id}/versions/{version_id}/revisions',
    path: { app_id: app, version_id: version },
    words: fieldWords.revision,
    kinds: REVISION_FIELDS,
    defaults: original,
    constants: { ...original, is_current: false, copy_endpoints_from: label },
    nameOf: ({ revision }) => String(revision),
    onCreated: ({ revision }) => onCreated(String(revision)),
  });
  const hasOnePlace = original['targets'] === null && original['discovery'] === null;
  return (
    <RecordForm form={form} label={cloneWords.title(label)} action={cloneWords.action} onCancel={onCancel}>
      <p>{cloneWords.hint}</p>
      <FieldGrid>
        <FormField form={form} at="/revision" required />
        {/* Several targets, or looked-up ones, can be changed on the page of the clone. */}
        {hasOnePlace && <FormField form={form} at="/backend_host" />}
        {hasOnePlace && <FormField form={form} at="/backend_port" />}
      </FieldGrid>
    </RecordForm>
  );
}
