/**
 * A new revision: a label, the URL of its backend and its share of the traffic; everything else may keep the
 * proposed values.
 */
import { useState, type ReactNode } from 'react';
import type { Revision } from '../../../api/schema.ts';
import { appsWords, fieldWords, newRevisionWords as say, trafficWords } from '../../../text/apps.ts';
import { FieldGrid, SelectField, TextField } from '../../../ui/controls/field.tsx';
import { formatShare } from '../../../ui/display/time.tsx';
import { parseBackend } from '../../start/draft.ts';
import { backendText } from '../parts/state-badges.tsx';
import { readWeight } from '../traffic/split.ts';
import { FormField, RecordForm } from './form-fields.tsx';
import styles from './forms.module.css';
import { DEFAULTS, REVISION_FIELDS, copyOfRevision, shownRevision } from './record-fields.ts';
import { BackendFields, HealthFields, TargetFields, TlsFields, type CreateProps } from './revision-form.tsx';
import { useCreateForm, type FormState } from './use-record-form.ts';

interface NewRevisionProps extends CreateProps {
  /** The existing revisions of the version. */
  readonly siblings: readonly Revision[];
}

export function CreateRevisionForm(props: NewRevisionProps): ReactNode {
  const { app, version, siblings, onCreated, onCancel } = props;
  // Without the policy and endpoints of the first, a second revision would answer differently.
  const [likeLabel, setLike] = useState(() => (siblings.find(isServing) ?? siblings[0])?.revision ?? '');
  const like = siblings.find(({ revision }) => revision === likeLabel);
  const isFirst = siblings.length === 0;
  const form = useCreateForm({
    title: appsWords.createRevision,
    operation: '/apps/{app_id}/versions/{version_id}/revisions',
    path: { app_id: app, version_id: version },
    words: fieldWords.revision,
    kinds: REVISION_FIELDS,
    defaults: {
      ...(like === undefined ? DEFAULTS.revision : { ...DEFAULTS.revision, ...shownRevision(like) }),
      revision: '',
      is_current: isFirst,
    },
    constants: {
      ...(like !== undefined && { ...copyOfRevision(like), copy_endpoints_from: like.revision }),
      is_current: isFirst,
    },
    nameOf: ({ revision }) => String(revision),
    onCreated: ({ revision }) => onCreated(String(revision)),
  });
  return (
    <RecordForm
      form={form}
      label={appsWords.createRevision}
      action={appsWords.createRevision}
      onCancel={onCancel}
    >
      <FieldGrid>
        <FormField form={form} at="/revision" required />
        <BackendUrl form={form} like={like} />
        {!isFirst && (
          <SelectField
            label={say.like}
            hint={say.likeHint}
            choices={[
              ...siblings.map(({ revision }) => ({ value: revision, label: say.likeOf(revision) })),
              { value: '', label: say.likeNone },
            ]}
            value={likeLabel}
            onValue={setLike}
          />
        )}
      </FieldGrid>
      <TrafficFields form={form} siblings={siblings} />
      <FurtherFields form={form} />
    </RecordForm>
  );
}

const isServing = (revision: Revision): boolean => revision.is_current;

interface BackendUrlProps {
  readonly form: FormState;
  readonly like: Revision | undefined;
}

/** One field for what are four fields in the API. */
function BackendUrl({ form, like }: BackendUrlProps): ReactNode {
  const [text, setText] = useState('');
  const parsed = parseBackend(text);
  const problem = text.trim() !== '' && 'problem' in parsed ? parsed.problem : undefined;
  const ofApi = ['/backend_host', '/backend_port', '/backend_scheme', '/backend_base_path']
    .map((at) => form.error?.fieldMessage(at))
    .find((message) => message !== undefined);
  return (
    <TextField
      label={say.backend}
      hint={like === undefined ? say.backendHint : say.backendLike(like.revision)}
      placeholder={like === undefined ? say.backendPlaceholder : backendText(like)}
      isMono
      inputMode="url"
      aria-required={like === undefined}
      value={text}
      error={problem ?? ofApi}
      onValue={(next) => {
        setText(next);
        const backend = parseBackend(next);
        if ('problem' in backend) return;
        form.set('/backend_scheme', backend.backend_scheme);
        form.set('/backend_host', backend.backend_host);
        if (backend.backend_port !== undefined) form.set('/backend_port', String(backend.backend_port));
        form.set('/backend_base_path', backend.backend_base_path ?? '/');
      }}
    />
  );
}

/** What the API gives a revision without one. */
const WEIGHT_DEFAULT = 100;

interface TrafficFieldsProps {
  readonly form: FormState;
  readonly siblings: readonly Revision[];
}

function TrafficFields({ form, siblings }: TrafficFieldsProps): ReactNode {
  const isCurrent = form.value('/is_current') === true;
  const typed = String(form.value('/traffic_weight'));
  const weight = typed.trim() === '' ? WEIGHT_DEFAULT : readWeight(typed);
  const others = siblings.filter(isServing).reduce((sum, { traffic_weight: one }) => sum + one, 0);
  const total = (weight ?? 0) + others;
  const shareText =
    weight === undefined ? trafficWords.wrongWeight : say.share(formatShare(total > 0 ? weight / total : 0));
  return (
    <div className={styles['flags']}>
      <FormField form={form} at="/is_current" />
      {isCurrent && siblings.length > 0 && (
        <FieldGrid>
          <FormField form={form} at="/traffic_weight" />
        </FieldGrid>
      )}
      <p aria-live="polite">{isCurrent ? shareText : say.noShare}</p>
    </div>
  );
}

/** Opens automatically when the API reports an error in one of its fields. */
function FurtherFields({ form }: { readonly form: FormState }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      className={styles['further']}
      open={isOpen || (form.error?.fields.length ?? 0) > 0}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>{say.further}</summary>
      <div className={styles['form']}>
        <BackendFields form={form} />
        <TargetFields form={form} />
        {form.value('/backend_scheme') === 'https' && <TlsFields form={form} />}
        <HealthFields form={form} />
      </div>
    </details>
  );
}
