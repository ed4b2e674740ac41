/** The form that makes a webhook, and its secret afterwards. */
import { useState, type ReactNode } from 'react';
import { useWrite } from '../../api/queries.ts';
import { EVENT_GROUPS } from '../../text/events.ts';
import { webhooksWords } from '../../text/webhooks.ts';
import { TextField } from '../../ui/controls/field.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { CreationForm } from '../keys/creation-form.tsx';
import { ShownOnce } from '../keys/shown-once.tsx';
import styles from './webhooks.module.css';

const POINTERS = ['/name', '/url', '/app_ids'];

/** @param onEnd gets the id of the new webhook; '' if there is none */
export function CreateWebhook({ onEnd }: { readonly onEnd: (id: string) => void }): ReactNode {
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [groups, setGroups] = useState<readonly string[]>([]);
  const [apps, setApps] = useState('');
  const creation = useWrite('POST /webhooks');
  const create = (): void => {
    const slugs = apps.split(/[\s,]+/).filter((slug) => slug !== '');
    creation.mutate({
      body: {
        name: name.trim(),
        url: url.trim(),
        events: groups.length === 0 ? ['*'] : groups,
        app_ids: slugs,
      },
    });
  };
  const made = creation.data?.body.data;
  return (
    <Panel title={webhooksWords.create}>
      <CreationForm
        error={creation.error}
        pointers={POINTERS}
        isBusy={creation.isPending}
        isComplete={name.trim() !== '' && url.trim() !== ''}
        onCreate={create}
        onCancel={() => onEnd('')}
        below={<Groups chosen={groups} onChoose={setGroups} />}
      >
        {(message) => (
          <>
            <TextField
              label={webhooksWords.name}
              hint={webhooksWords.nameHint}
              error={message('/name')}
              value={name}
              onValue={setName}
              required
              autoFocus
              maxLength={200}
            />
            <TextField
              label={webhooksWords.url}
              hint={webhooksWords.urlHint}
              error={message('/url')}
              value={url}
              onValue={setUrl}
              required
              isMono
              type="url"
              maxLength={2_048}
            />
            <TextField
              label={webhooksWords.apps}
              hint={webhooksWords.appsHint}
              error={message('/app_ids/0') ?? message('/app_ids')}
              value={apps}
              onValue={setApps}
              isMono
            />
          </>
        )}
      </CreationForm>
      <ShownOnce
        value={made?.secret}
        name={name.trim()}
        use={webhooksWords.secretShown}
        onStored={() => onEnd(made?.id ?? '')}
      />
    </Panel>
  );
}

interface GroupsProps {
  readonly chosen: readonly string[];
  readonly onChoose: (groups: readonly string[]) => void;
}

function Groups({ chosen, onChoose }: GroupsProps): ReactNode {
  return (
    <fieldset className={styles['groups']}>
      <legend>{webhooksWords.events}</legend>
      <p className={styles['hint']}>{webhooksWords.eventsHint}</p>
      <div className={styles['choices']}>
        {EVENT_GROUPS.map(({ value, label }) => (
          <label key={value} className={styles['choice']}>
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={({ currentTarget: { checked } }) =>
                onChoose(checked ? [...chosen, value] : chosen.filter((each) => each !== value))
              }
            />
            {label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
