/** The fields of a webhook, for a new one and for one that is changed. */
import type { ReactNode } from 'react';
import { EVENT_GROUPS } from '../../text/events.ts';
import { webhooksWords } from '../../text/webhooks.ts';
import { TextField } from '../../ui/controls/field.tsx';
import type { WebhookDraft } from './webhook-draft.ts';
import styles from './webhooks.module.css';

interface FieldsProps {
  readonly draft: WebhookDraft;
  readonly onDraft: (draft: WebhookDraft) => void;
}

interface TextFieldsProps extends FieldsProps {
  /** The error of a field. */
  readonly message: (pointer: string) => string | undefined;
}

export function WebhookFields({ draft, onDraft, message }: TextFieldsProps): ReactNode {
  return (
    <>
      <TextField
        label={webhooksWords.name}
        hint={webhooksWords.nameHint}
        error={message('/name')}
        value={draft.name}
        onValue={(name) => onDraft({ ...draft, name })}
        required
        autoFocus
        maxLength={200}
      />
      <TextField
        label={webhooksWords.url}
        hint={webhooksWords.urlHint}
        error={message('/url')}
        value={draft.url}
        onValue={(url) => onDraft({ ...draft, url })}
        required
        isMono
        type="url"
        maxLength={2_048}
      />
      <TextField
        label={webhooksWords.apps}
        hint={webhooksWords.appsHint}
        error={message('/app_ids/0') ?? message('/app_ids')}
        value={draft.apps}
        onValue={(apps) => onDraft({ ...draft, apps })}
        isMono
      />
    </>
  );
}

export function EventGroups({ draft, onDraft }: FieldsProps): ReactNode {
  const { events: chosen } = draft;
  const others = chosen.filter((type) => EVENT_GROUPS.every(({ value }) => value !== type));
  return (
    <fieldset className={styles['groups']}>
      <legend>{webhooksWords.events}</legend>
      <p className={styles['hint']}>{webhooksWords.eventsHint}</p>
      {others.length > 0 && <p className={styles['hint']}>{webhooksWords.otherEvents(others.join(', '))}</p>}
      <div className={styles['choices']}>
        {EVENT_GROUPS.map(({ value, label }) => (
          <label key={value} className={styles['choice']}>
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={({ currentTarget: { checked } }) =>
                onDraft({
                  ...draft,
                  events: checked ? [...chosen, value] : chosen.filter((each) => each !== value),
                })
              }
            />
            {label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
