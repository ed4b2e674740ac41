/** The fields of an app. */
import type { ReactNode } from 'react';
import { appsWords, fieldWords } from '../../../text/apps.ts';
import { FieldGrid } from '../../../ui/controls/field.tsx';
import { FormChoice, FormField, FormText, RecordForm } from './form-fields.tsx';
import { APP_FIELDS, DEFAULTS } from './record-fields.ts';
import { useCreateForm, type FormState } from './use-record-form.ts';

const ROUTING = Object.entries(appsWords.routing).map(([value, label]) => ({ value, label }));

export function AppFields({ form }: { readonly form: FormState }): ReactNode {
  return (
    <>
      <FieldGrid>
        <FormField form={form} at="/name" required />
        <FormField form={form} at="/slug" required />
        <FormField form={form} at="/gateway_path" required />
        <FormChoice form={form} at="/routing_mode" choices={ROUTING} />
      </FieldGrid>
      <FormText form={form} at="/hosts" />
      <FormText form={form} at="/description" />
      <FormField form={form} at="/labels" />
      <FormField form={form} at="/allow_encoded_slashes" />
    </>
  );
}

interface CreateProps {
  readonly onCreated: (slug: string) => void;
  readonly onCancel: () => void;
}

export function CreateAppForm({ onCreated, onCancel }: CreateProps): ReactNode {
  const form = useCreateForm({
    title: appsWords.createApp,
    operation: '/apps',
    words: fieldWords.app,
    kinds: APP_FIELDS,
    defaults: DEFAULTS.app,
    nameOf: ({ name }) => String(name),
    onCreated: ({ slug }) => onCreated(String(slug)),
  });
  return (
    <RecordForm form={form} label={appsWords.createApp} action={appsWords.createApp} onCancel={onCancel}>
      <p>{appsWords.emptyApp}</p>
      <AppFields form={form} />
    </RecordForm>
  );
}
