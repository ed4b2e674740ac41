/** API keys of one app or of all apps: created here, and found by a leaked value. */
import { Link } from '@tanstack/react-router';
import { useCallback, useDeferredValue, useState, type ReactNode } from 'react';
import { usePages, type Pages } from '../../api/queries.ts';
import type { App } from '../../api/schema.ts';
import { useSearchText } from '../../page/search-text.ts';
import { useMay } from '../../page/session.ts';
import { keysWords } from '../../text/keys.ts';
import { Button, ButtonLink } from '../../ui/controls/button.tsx';
import { SelectField, TextField } from '../../ui/controls/field.tsx';
import { EmptyState, Loaded } from '../../ui/display/notes.tsx';
import { PageHead, Panel, QuietPanel, Stack } from '../../ui/display/panel.tsx';
import { AppKeys, type StatusFilter } from './app-keys.tsx';
import { CreateKey } from './create-key.tsx';
import { WhoseKey } from './whose-key.tsx';
import styles from './keys.module.css';

const APPS_PER_PAGE = 50;
const STATUSES = ['', 'active', 'revoked', 'expired'] as const;

export function KeysPage(): ReactNode {
  const [open, setOpen] = useSearchText('open');
  const [app] = useSearchText('app');
  const mayEdit = useMay('editor');
  const apps = usePages('GET /apps', { query: { limit: APPS_PER_PAGE } });
  return (
    <>
      <PageHead
        title={keysWords.title}
        summary={keysWords.summary}
        actions={
          mayEdit && (
            <>
              <Button onClick={() => setOpen('whose')}>{keysWords.whose}</Button>
              <Button look="main" disabled={apps.data?.total === 0} onClick={() => setOpen('create')}>
                {keysWords.create}
              </Button>
            </>
          )
        }
      />
      <Stack>
        {mayEdit && open === 'whose' && <WhoseKey onEnd={() => setOpen('')} />}
        <Loaded query={apps}>
          {(found) => (
            <>
              {mayEdit && open === 'create' && found.items.length > 0 && (
                <CreateKey apps={found.items} app={app} onEnd={() => setOpen('')} />
              )}
              <KeyLists
                apps={found}
                mayEdit={mayEdit}
                {...(apps.hasNextPage && { loadApps: () => void apps.fetchNextPage() })}
              />
            </>
          )}
        </Loaded>
      </Stack>
    </>
  );
}

interface KeyListsProps {
  readonly apps: Pages<App>;
  readonly mayEdit: boolean;
  readonly loadApps?: () => void;
}

function KeyLists({ apps, mayEdit, loadApps }: KeyListsProps): ReactNode {
  const [app, setApp] = useSearchText('app');
  const [query, setQuery] = useSearchText('q');
  const [status, setStatus] = useSearchText('status');
  const wanted = useDeferredValue(query.trim());
  const [totals, setTotals] = useState<ReadonlyMap<string, number>>(new Map());
  const tell = useCallback(
    (slug: string, total: number) => setTotals((before) => new Map(before).set(slug, total)),
    [],
  );
  if (apps.total === 0) {
    return (
      <Panel isFlush>
        <EmptyState
          title={keysWords.noAppsTitle}
          actions={mayEdit && <ButtonLink to="/start">{keysWords.toStart}</ButtonLink>}
        >
          {keysWords.noApps}
        </EmptyState>
      </Panel>
    );
  }
  const shown = app === '' ? apps.items : [appNamed(apps.items, app)];
  return (
    <>
      <div className={styles['filters']}>
        <SelectField
          label={keysWords.app}
          value={app}
          choices={appChoices(apps.items, app)}
          onValue={setApp}
        />
        <TextField
          label={keysWords.searchLabel}
          type="search"
          value={query}
          onValue={setQuery}
          maxLength={200}
        />
        <SelectField
          label={keysWords.status}
          value={status}
          choices={STATUSES.map((value) => ({
            value,
            label: value === '' ? keysWords.anyStatus : keysWords.filterStates[value],
          }))}
          onValue={setStatus}
        />
      </div>
      {shown.map((one) => (
        <AppKeys
          key={one.slug}
          app={one}
          query={wanted}
          status={statusOf(status)}
          isAlone={shown.length === 1}
          onTotal={tell}
        />
      ))}
      {shown.length > 1 && (
        <Keyless
          apps={shown.filter(({ slug }) => totals.get(slug) === 0)}
          isFiltered={wanted !== '' || status !== ''}
        />
      )}
      {loadApps !== undefined && (
        <div>
          <Button onClick={loadApps}>{keysWords.moreApps}</Button>
        </div>
      )}
    </>
  );
}

interface KeylessProps {
  readonly apps: readonly Pick<App, 'slug' | 'name'>[];
  readonly isFiltered: boolean;
}

/** Apps without keys, together: there may be many of them. */
function Keyless({ apps, isFiltered }: KeylessProps): ReactNode {
  if (apps.length === 0) return null;
  return (
    <QuietPanel title={isFiltered ? keysWords.noMatchIn(apps.length) : keysWords.noKeysIn(apps.length)}>
      {apps.map(({ slug, name }, index) => (
        <span key={slug}>
          {index > 0 && ', '}
          <Link to="/keys" search={{ app: slug }}>
            {name}
          </Link>
        </span>
      ))}
    </QuietPanel>
  );
}

/** Also for an address that names an app which is not among the loaded ones. */
function appNamed(apps: readonly App[], reference: string): Pick<App, 'slug' | 'name'> {
  return (
    apps.find(({ slug, id }) => slug === reference || id === reference) ?? {
      slug: reference,
      name: reference,
    }
  );
}

function appChoices(apps: readonly App[], app: string): { readonly value: string; readonly label: string }[] {
  const choices = [{ slug: '', name: keysWords.allApps }, ...apps];
  const isKnown = choices.some(({ slug }) => slug === app);
  return [...choices, ...(isKnown ? [] : [{ slug: app, name: app }])].map(({ slug, name }) => ({
    value: slug,
    label: name,
  }));
}

function statusOf(text: string): StatusFilter {
  return STATUSES.find((status) => status === text) ?? '';
}
