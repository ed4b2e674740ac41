/** An app: its record, its versions, and where its keys and its shadow report are. */
import { useNavigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Answer } from '../../api/call.ts';
import { usePages, useRead } from '../../api/queries.ts';
import type { App, AppEnvelope } from '../../api/schema.ts';
import { appsWords, fieldWords } from '../../text/apps.ts';
import { Button, ButtonLink } from '../../ui/controls/button.tsx';
import { KeyValues } from '../../ui/display/key-values.tsx';
import { Loaded } from '../../ui/display/notes.tsx';
import { Columns, PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { Tabs } from '../../ui/overlay/tabs.tsx';
import { AppFields } from './forms/app-form.tsx';
import { RecordForm } from './forms/form-fields.tsx';
import { APP_FIELDS } from './forms/record-fields.ts';
import { useEditForm } from './forms/use-record-form.ts';
import { CreateVersionForm } from './forms/version-form.tsx';
import { DeleteButton } from './parts/delete-button.tsx';
import { LabelList } from './parts/label-list.tsx';
import { PolicySummary } from './parts/policy-summary.tsx';
import { policyTab } from './parts/policy-tab.tsx';
import { RecordLoaded } from './parts/record-loaded.tsx';
import { useRecordView } from './parts/record-view.ts';
import { Trail, pageLink } from './parts/resource-link.tsx';
import { TryLink } from './parts/try-link.tsx';
import { VersionTable } from './parts/version-table.tsx';

export function AppPage(): ReactNode {
  const { app } = useParams({ strict: false }) as { readonly app: string };
  const query = useRead('GET /apps/{app_id}', { path: { app_id: app } });
  return (
    <RecordLoaded path={{ app }} query={query}>
      {(answer) => <AppView key={answer.body.data.id} answer={answer} />}
    </RecordLoaded>
  );
}

function AppView({ answer }: { readonly answer: Answer<AppEnvelope> }): ReactNode {
  const app = answer.body.data;
  const path = { app: app.slug };
  const navigate = useNavigate();
  const { tab, setTab, making, setMaking, mayEdit } = useRecordView();
  const form = useEditForm({
    name: app.name,
    operation: '/apps/{app_id}',
    path: { app_id: app.id },
    words: fieldWords.app,
    kinds: APP_FIELDS,
    record: app,
    etag: answer.etag,
    onSaved: ({ slug }) => {
      if (slug !== app.slug) void navigate(pageLink({ app: String(slug) }));
    },
  });
  const edit = (
    <Panel>
      <RecordForm form={form} label={appsWords.saveOf(app.name)}>
        <AppFields form={form} />
      </RecordForm>
    </Panel>
  );
  return (
    <>
      <PageHead
        title={app.name}
        trail={<Trail path={path} />}
        summary={app.description}
        actions={
          <>
            <TryLink app={app.id} />
            <ButtonLink {...({ to: '/keys', search: { app: app.slug } } as object)}>
              {appsWords.keys}
            </ButtonLink>
            <ButtonLink {...({ to: '/edit', search: { app: app.slug } } as object)}>
              {appsWords.asYaml}
            </ButtonLink>
            <ButtonLink {...({ to: '/shadow', search: { app: app.slug } } as object)}>
              {appsWords.shadow}
            </ButtonLink>
            {mayEdit && (
              <Button look="main" onClick={() => setMaking('version')}>
                {appsWords.createVersion}
              </Button>
            )}
            <DeleteButton path={path} name={app.slug} etag={answer.etag} />
          </>
        }
      />
      <Stack>
        {making === 'version' && (
          <Panel title={appsWords.createVersion}>
            <CreateVersionForm
              app={app.slug}
              appPath={app.gateway_path}
              onCancel={() => setMaking('')}
              onCreated={(version) =>
                // A version serves nothing before it has a backend.
                void navigate({
                  ...(pageLink({ app: app.slug, version }) as object),
                  search: { create: 'revision' },
                } as never)
              }
            />
          </Panel>
        )}
        <Tabs
          label={appsWords.views(app.name)}
          value={tab}
          onValue={setTab}
          tabs={[
            { value: 'overview', label: appsWords.tabs.overview, content: <AppOverview app={app} /> },
            policyTab('app', path),
            ...(mayEdit ? [{ value: 'edit', label: appsWords.tabs.edit, content: edit }] : []),
          ]}
        />
      </Stack>
    </>
  );
}

function AppOverview({ app }: { readonly app: App }): ReactNode {
  const versions = usePages('GET /apps/{app_id}/tree', { path: { app_id: app.id } }, { everyMs: 10_000 });
  const { facts } = appsWords;
  return (
    <Stack>
      <Panel title={appsWords.versionsOf} isFlush>
        <Loaded query={versions}>
          {(pages) => <VersionTable app={app.slug} pages={pages} query={versions} />}
        </Loaded>
      </Panel>
      <Columns>
        <Panel title={appsWords.kinds.app}>
          <KeyValues
            rows={[
              [facts.slug, <code key="slug">{app.slug}</code>],
              [facts.path, <code key="path">{app.gateway_path}</code>],
              [facts.hosts, app.hosts.length === 0 ? appsWords.everyHost : app.hosts.join(', ')],
              [facts.routing, appsWords.routing[app.routing_mode]],
              [facts.encodedSlashes, app.allow_encoded_slashes ? appsWords.accepted : appsWords.refused],
              [facts.policy, <PolicySummary key="policy" policy={app.default_policy} />],
              [facts.labels, <LabelList key="labels" labels={app.labels} />],
              [facts.created, <Time key="created" at={app.created_at} />],
              [facts.changed, <Time key="changed" at={app.updated_at} />],
              [facts.id, <code key="id">{app.id}</code>],
            ]}
          />
        </Panel>
      </Columns>
    </Stack>
  );
}
