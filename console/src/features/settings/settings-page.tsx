/** The settings in force by group, with their meaning and default. They are changed in the environment, not here. */
import { useDeferredValue, type ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import type { Setting } from '../../api/schema.ts';
import { useSearchText, useSetSearchTexts } from '../../page/search-text.ts';
import { settingsWords } from '../../text/operation.ts';
import { Button } from '../../ui/controls/button.tsx';
import { CheckField, TextField } from '../../ui/controls/field.tsx';
import { EmptyState, Loaded } from '../../ui/display/notes.tsx';
import { PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { groupsOf, matching } from './find-settings.ts';
import { SettingItem } from './setting-item.tsx';
import styles from './settings.module.css';

export function SettingsPage(): ReactNode {
  const settings = useRead('GET /settings', {});
  return (
    <>
      <PageHead title={settingsWords.title} summary={settingsWords.summary} />
      <Loaded query={settings}>{({ body }) => <SettingsList settings={body.data.items} />}</Loaded>
    </>
  );
}

function SettingsList({ settings }: { readonly settings: readonly Setting[] }): ReactNode {
  const [q, setQ] = useSearchText('q');
  const [changed, setChanged] = useSearchText('changed');
  const set = useSetSearchTexts();
  const shown = matching(settings, useDeferredValue(q), changed === 'true');
  return (
    <Stack>
      <div className={styles['filters']} role="search">
        <TextField
          label={settingsWords.search}
          hint={settingsWords.searchHint}
          type="search"
          value={q}
          onValue={setQ}
        />
        <CheckField
          label={settingsWords.changed}
          checked={changed === 'true'}
          onChecked={(checked) => setChanged(checked ? 'true' : '')}
        />
      </div>
      <p className={styles['count']} role="status">
        {settingsWords.shown(shown.length, settings.length)}
      </p>
      {shown.length === 0 && (
        <Panel isFlush>
          <EmptyState
            title={settingsWords.noneFound}
            actions={
              <Button onClick={() => void set({ q: '', changed: '' })}>{settingsWords.showAll}</Button>
            }
          >
            <p>{settingsWords.noneFoundDetail}</p>
          </EmptyState>
        </Panel>
      )}
      {groupsOf(shown).map(([group, items]) => (
        <Panel key={group} title={group} isFlush>
          <ul className={styles['list']}>
            {items.map((setting) => (
              <SettingItem key={setting.name} setting={setting} />
            ))}
          </ul>
        </Panel>
      ))}
    </Stack>
  );
}
