/** The fields of a key, for its creation and for changes. */
import type { ReactNode } from 'react';
import { fieldMessage } from '../../api/api-error.ts';
import { keysWords } from '../../text/keys.ts';
import { SelectField, TextArea, TextField } from '../../ui/controls/field.tsx';
import type { ExpiryChoice, KeyDraft, LimitChoice } from './key-draft.ts';
import styles from './keys.module.css';

interface KeyFieldsProps {
  /** Fields that come before these. */
  readonly children?: ReactNode;
  readonly draft: KeyDraft;
  readonly onDraft: (draft: KeyDraft) => void;
  readonly refused: Error | undefined;
}

const EXPIRIES = (['never', '30', '90', '365', 'at'] as const).map((value) => ({
  value,
  label: keysWords.expiries[value],
}));
const LIMITS = (['policy', 'own', 'none'] as const).map((value) => ({
  value,
  label: keysWords.limits[value],
}));
const ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;
/** Pointers of the fields in this form; other errors are shown above the form. */
export const KEY_POINTERS = ['/name', '/scopes', '/expires_at', '/rate_limit'];

export function KeyFields({ children, draft, onDraft, refused }: KeyFieldsProps): ReactNode {
  const set = (part: Partial<KeyDraft>): void => onDraft({ ...draft, ...part });
  const message = (pointer: string): string | undefined => fieldMessage(refused, pointer);
  return (
    <div className={styles['grid']}>
      {children}
      <TextField
        label={keysWords.name}
        hint={keysWords.nameHint}
        error={message('/name')}
        value={draft.name}
        onValue={(name) => set({ name })}
        required
        maxLength={200}
      />
      <TextArea
        label={keysWords.scopes}
        rows={3}
        hint={keysWords.scopesHint}
        error={message('/scopes')}
        value={draft.scopes}
        onValue={(scopes) => set({ scopes })}
        isMono
      />
      <ExpiryFields {...{ draft, set }} error={message('/expires_at')} />
      <LimitFields {...{ draft, set, message }} />
    </div>
  );
}

interface PartProps {
  readonly draft: KeyDraft;
  readonly set: (part: Partial<KeyDraft>) => void;
}

function ExpiryFields({ draft, set, error }: PartProps & { readonly error: string | undefined }): ReactNode {
  const isChosen = draft.expiry === 'at';
  return (
    <>
      <SelectField<ExpiryChoice>
        label={keysWords.expiry}
        error={isChosen ? undefined : error}
        value={draft.expiry}
        choices={EXPIRIES}
        onValue={(expiry) => set({ expiry })}
      />
      {isChosen && (
        <TextField
          label={keysWords.expiresAt}
          hint={keysWords.expiresAtHint(ZONE)}
          error={error}
          type="datetime-local"
          value={draft.expiresAt}
          onValue={(expiresAt) => set({ expiresAt })}
        />
      )}
    </>
  );
}

interface LimitProps extends PartProps {
  readonly message: (pointer: string) => string | undefined;
}

function LimitFields({ draft, set, message }: LimitProps): ReactNode {
  const [requests, windowSecs] = ['/rate_limit/requests', '/rate_limit/window_seconds'].map(message);
  return (
    <>
      <SelectField<LimitChoice>
        label={keysWords.limit}
        error={requests === undefined && windowSecs === undefined ? message('/rate_limit') : undefined}
        value={draft.limit}
        choices={LIMITS}
        onValue={(limit) => set({ limit })}
      />
      {draft.limit === 'own' && (
        <>
          <TextField
            label={keysWords.requests}
            error={requests}
            inputMode="numeric"
            value={draft.requests}
            onValue={(value) => set({ requests: value })}
          />
          <TextField
            label={keysWords.windowSecs}
            error={windowSecs}
            inputMode="numeric"
            value={draft.windowSecs}
            onValue={(value) => set({ windowSecs: value })}
          />
        </>
      )}
    </>
  );
}
