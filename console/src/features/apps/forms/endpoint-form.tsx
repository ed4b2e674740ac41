/** The fields of an endpoint. */
import type { ReactNode } from 'react';
import { appsWords, fieldWords } from '../../../text/apps.ts';
import { FieldGrid } from '../../../ui/controls/field.tsx';
import { apiPath, type ResourcePath } from '../resource-path.ts';
import { FormChoice, FormField, RecordForm } from './form-fields.tsx';
import { DEFAULTS, ENDPOINT_FIELDS } from './record-fields.ts';
import { useCreateForm, type FormState } from './use-record-form.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', '*'].map((value) => ({
  value,
  label: value === '*' ? appsWords.methods.any : value,
}));

export function EndpointFields({ form }: { readonly form: FormState }): ReactNode {
  return (
    <>
      <FieldGrid>
        <FormChoice form={form} at="/method" choices={METHODS} />
        <FormField form={form} at="/path" required />
        <FormField form={form} at="/backend_path" />
      </FieldGrid>
      <FormField form={form} at="/is_active" />
    </>
  );
}

interface CreateProps {
  /** The path of the revision. */
  readonly path: ResourcePath;
  readonly onCreated: (id: string) => void;
  readonly onCancel: () => void;
}

export function CreateEndpointForm({ path, onCreated, onCancel }: CreateProps): ReactNode {
  const form = useCreateForm({
    title: appsWords.createEndpoint,
    operation: '/apps/{app_id}/versions/{version_id}/revisions/{revision_id}/endpoints',
    path: apiPath(path),
    words: fieldWords.endpoint,
    kinds: ENDPOINT_FIELDS,
    defaults: DEFAULTS.endpoint,
    constants: { method: DEFAULTS.endpoint.method },
    nameOf: ({ method, path: route }) => `${String(method)} ${String(route)}`,
    onCreated: ({ id }) => onCreated(String(id)),
  });
  return (
    <RecordForm
      form={form}
      label={appsWords.createEndpoint}
      action={appsWords.createEndpoint}
      onCancel={onCancel}
    >
      <EndpointFields form={form} />
    </RecordForm>
  );
}
