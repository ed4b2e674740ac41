/** The fields of a version. */
import type { ReactNode } from 'react';
import { appsWords, fieldWords } from '../../../text/apps.ts';
import { FieldGrid } from '../../../ui/controls/field.tsx';
import { FormChoice, FormField, RecordForm } from './form-fields.tsx';
import { DEFAULTS, VERSION_FIELDS } from './record-fields.ts';
import { useCreateForm, type FormState } from './use-record-form.ts';

const STATUSES = Object.entries(appsWords.status).map(([value, label]) => ({ value, label }));

interface VersionFieldsProps {
  readonly form: FormState;
  /** The path for an empty field. */
  readonly defaultPath: string;
}

export function VersionFields({ form, defaultPath }: VersionFieldsProps): ReactNode {
  return (
    <FieldGrid>
      <FormField form={form} at="/version" required />
      <FormField form={form} at="/gateway_path" placeholder={defaultPath} />
      <FormChoice form={form} at="/status" choices={STATUSES} />
      <FormField form={form} at="/deprecated_at" />
      <FormField form={form} at="/sunset_at" />
      <FormField form={form} at="/successor" />
    </FieldGrid>
  );
}

interface CreateProps {
  readonly app: string;
  /** Gateway path of the app. */
  readonly appPath: string;
  readonly onCreated: (version: string) => void;
  readonly onCancel: () => void;
}

export function CreateVersionForm({ app, appPath, onCreated, onCancel }: CreateProps): ReactNode {
  const form = useCreateForm({
    title: appsWords.createVersion,
    operation: '/apps/{app_id}/versions',
    path: { app_id: app },
    words: fieldWords.version,
    kinds: VERSION_FIELDS,
    defaults: DEFAULTS.version,
    nameOf: ({ version }) => String(version),
    onCreated: ({ version }) => onCreated(String(version)),
  });
  const label = String(form.value('/version')) || 'v1';
  return (
    <RecordForm
      form={form}
      label={appsWords.createVersion}
      action={appsWords.createVersion}
      onCancel={onCancel}
    >
      <p>{appsWords.versionOrRevision}</p>
      <VersionFields form={form} defaultPath={`${appPath === '/' ? '' : appPath}/${label}`} />
    </RecordForm>
  );
}
