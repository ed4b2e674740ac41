/** One key: its properties, its use, and everything that can be done with it. */
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Answer } from '../../api/call.ts';
import { useRead } from '../../api/queries.ts';
import type { Token, TokenEnvelope } from '../../api/schema.ts';
import { useSearchText } from '../../page/search-text.ts';
import { useMay } from '../../page/session.ts';
import { keysWords } from '../../text/keys.ts';
import { words } from '../../text/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { KeyValues, row } from '../../ui/display/key-values.tsx';
import { Loaded } from '../../ui/display/notes.tsx';
import { PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { Time, useNow } from '../../ui/display/time.tsx';
import { useSave } from '../save/save-context.ts';
import { Scopes, StateBadge, TimeOrNever } from './app-keys.tsx';
import { EditKey } from './edit-key.tsx';
import { limitText } from './key-state.ts';
import { RotateKey } from './rotate-key.tsx';
import { useSwitchKey } from './switch-key.ts';
import { Usage } from './usage.tsx';

/** For the time of its last use. */
const REFRESH_MS = 10_000;

export function KeyPage(): ReactNode {
  const { app = '', key: id = '' } = useParams({ strict: false });
  const path = { app_id: app, token_id: id };
  const key = useRead('GET /apps/{app_id}/tokens/{token_id}', { path }, { everyMs: REFRESH_MS });
  return (
    <Loaded query={key}>{(answer) => <OneKey key={answer.body.data.id} app={app} answer={answer} />}</Loaded>
  );
}

interface OneKeyProps {
  /** Slug or id, as in the address. */
  readonly app: string;
  readonly answer: Answer<TokenEnvelope>;
}

function OneKey({ app, answer }: OneKeyProps): ReactNode {
  const key = answer.body.data;
  const [open, setOpen] = useSearchText('open');
  const mayEdit = useMay('editor');
  return (
    <>
      <PageHead
        title={key.name}
        trail={
          <>
            <Link to="/keys">{keysWords.title}</Link> /{' '}
            <Link to="/keys" search={{ app }}>
              {app}
            </Link>
          </>
        }
        summary={<StateBadge of={key} />}
        actions={mayEdit && <Actions app={app} answer={answer} onOpen={setOpen} />}
      />
      <Stack>
        {mayEdit && open === 'edit' && <EditKey app={app} answer={answer} onEnd={() => setOpen('')} />}
        <Panel title={keysWords.details}>
          <Details app={app} of={key} />
        </Panel>
        <Usage app={app} id={key.id} />
      </Stack>
      {mayEdit && (
        <RotateKey app={app} answer={answer} isOpen={open === 'rotate'} onClose={() => setOpen('')} />
      )}
    </>
  );
}

function Details({ app, of: key }: { readonly app: string; readonly of: Token }): ReactNode {
  const { fields } = keysWords;
  const now = useNow(true);
  const { previous_expires_at: previous } = key;
  return (
    <KeyValues
      rows={[
        row(fields.prefix, <code>{key.token_prefix}</code>),
        row(
          fields.app,
          <Link to="/apps/$app" params={{ app }}>
            {app}
          </Link>,
        ),
        row(fields.scopes, <Scopes of={key.scopes} />),
        row(fields.limit, limitText(key.rate_limit)),
        row(fields.expires, <TimeOrNever at={key.expires_at} />),
        ...(previous === null || Date.parse(previous) <= now
          ? []
          : [row(fields.previous, <Time at={previous} />)]),
        row(fields.lastUsed, <TimeOrNever at={key.last_used_at} relative="ago" />),
        row(fields.created, <Time at={key.created_at} />),
        row(fields.updated, <Time at={key.updated_at} />),
        row(fields.id, <code>{key.id}</code>),
      ]}
    />
  );
}

interface ActionsProps extends OneKeyProps {
  readonly onOpen: (what: string) => void;
}

function Actions({ app, answer, onOpen }: ActionsProps): ReactNode {
  const { id, name, is_active: isActive } = answer.body.data;
  const switchKey = useSwitchKey();
  const save = useSave();
  const navigate = useNavigate();
  const remove = async (): Promise<void> => {
    await save({
      title: keysWords.deleteTitle(name),
      action: words.delete,
      operation: 'DELETE /apps/{app_id}/tokens/{token_id}',
      options: { path: { app_id: app, token_id: id } },
      done: keysWords.deleted(name),
      confirmName: name,
      leave: () => navigate({ to: '/keys', search: { app } }),
    });
  };
  return (
    <>
      <Button onClick={() => onOpen('edit')}>{keysWords.edit}</Button>
      <Button onClick={() => onOpen('rotate')}>{keysWords.rotate}</Button>
      <Button onClick={() => void switchKey({ app, id, name, isActive, etag: answer.etag })}>
        {isActive ? keysWords.disable : keysWords.enable}
      </Button>
      <Button look="danger" onClick={() => void remove()}>
        {words.delete}
      </Button>
    </>
  );
}
