/** The declared configuration of an app, or of all: edited as YAML, planned, applied. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { usePages, useRead } from '../../api/queries.ts';
import { useSearchText } from '../../page/search-text.ts';
import { editWords as say } from '../../text/edit.ts';
import { SelectField } from '../../ui/controls/field.tsx';
import { Loaded } from '../../ui/display/notes.tsx';
import { PageHead, Stack } from '../../ui/display/panel.tsx';
import type { Fields } from '../save/merge-patch.ts';
import { ConfigEditor } from './config-editor.tsx';

export function EditPage(): ReactNode {
  const [app, setApp] = useSearchText('app');
  const apps = usePages('GET /apps', { query: { limit: 200 } });
  const config = useRead('GET /config', { query: { app: app === '' ? undefined : app } });
  const schema = useRead('GET /config/schema', {});
  const slugs = apps.data?.items.map(({ slug }) => slug) ?? [];
  const choices = ['', ...slugs, ...(app === '' || slugs.includes(app) ? [] : [app])];
  return (
    <>
      <PageHead
        title={say.title}
        trail={<Link to="/apps">{say.apps}</Link>}
        summary={say.summary}
        actions={
          <SelectField
            label={say.app}
            value={app}
            onValue={setApp}
            choices={choices.map((slug) => ({ value: slug, label: slug === '' ? say.allApps : slug }))}
          />
        }
      />
      <Stack>
        <Loaded query={config}>
          {({ body }) => {
            const { config: tree, config_version: version } = body.data as {
              readonly config: Fields;
              readonly config_version: number;
            };
            return (
              <ConfigEditor key={app} app={app} tree={tree} version={version} schema={schema.data?.body} />
            );
          }}
        </Loaded>
      </Stack>
    </>
  );
}
