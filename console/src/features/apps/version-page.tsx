/** A version: the split of its traffic, its revisions, and its way from active to retired. */
import { useNavigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Answer } from '../../api/call.ts';
import { useRead } from '../../api/queries.ts';
import type { Revision, Version, VersionEnvelope } from '../../api/schema.ts';
import { appsWords, fieldWords } from '../../text/apps.ts';
import { Button } from '../../ui/controls/button.tsx';
import { KeyValues } from '../../ui/display/key-values.tsx';
import { Loaded } from '../../ui/display/notes.tsx';
import { Columns, PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { Tabs } from '../../ui/overlay/tabs.tsx';
import { RecordForm } from './forms/form-fields.tsx';
import { CreateRevisionForm } from './forms/new-revision-form.tsx';
import { VERSION_FIELDS, shownVersion } from './forms/record-fields.ts';
import { useEditForm } from './forms/use-record-form.ts';
import { VersionFields } from './forms/version-form.tsx';
import { DeleteButton } from './parts/delete-button.tsx';
import { LifecyclePanel } from './parts/lifecycle-panel.tsx';
import { RecordLoaded } from './parts/record-loaded.tsx';
import { useRecordView } from './parts/record-view.ts';
import { Trail, pageLink } from './parts/resource-link.tsx';
import { RevisionTable } from './parts/revision-table.tsx';
import { StatusBadge } from './parts/state-badges.tsx';
import { TryLink } from './parts/try-link.tsx';
import { apiPath, type ResourcePath } from './resource-path.ts';
import { RollBackButton } from './traffic/activate-buttons.tsx';
import { TrafficPanel } from './traffic/traffic-panel.tsx';

const REVISIONS_MAX = 500;
const VERSION_PATH = '/apps/{app_id}/versions/{version_id}';

interface VersionParams {
  readonly app: string;
  readonly version: string;
}

export function VersionPage(): ReactNode {
  const { app, version } = useParams({ strict: false }) as VersionParams;
  const path = { app_id: app, version_id: version };
  const query = useRead(`GET ${VERSION_PATH}`, { path });
  const revisions = useRead(`GET ${VERSION_PATH}/revisions`, { path, query: { limit: REVISIONS_MAX } });
  return (
    <RecordLoaded path={{ app, version }} query={query}>
      {(answer) => (
        <Loaded query={revisions}>
          {({ body }) => (
            <VersionView key={answer.body.data.id} app={app} answer={answer} revisions={body.data} />
          )}
        </Loaded>
      )}
    </RecordLoaded>
  );
}

interface VersionViewProps {
  readonly app: string;
  readonly answer: Answer<VersionEnvelope>;
  readonly revisions: readonly Revision[];
}

function VersionView({ app, answer, revisions }: VersionViewProps): ReactNode {
  const version = answer.body.data;
  const path = { app, version: version.version };
  const navigate = useNavigate();
  const { tab, setTab, making, setMaking, mayEdit } = useRecordView();
  const form = useEditForm({
    name: version.version,
    operation: VERSION_PATH,
    path: apiPath({ app, version: version.id }),
    words: fieldWords.version,
    kinds: VERSION_FIELDS,
    record: shownVersion(version) as Readonly<Record<string, unknown>>,
    shown: shownVersion,
    etag: answer.etag,
    onSaved: ({ version: label }) => {
      if (label !== version.version) void navigate(pageLink({ app, version: String(label) }));
    },
  });
  const overview = <VersionOverview path={path} answer={answer} revisions={revisions} />;
  const edit = (
    <Panel>
      <RecordForm form={form} label={appsWords.saveOf(version.version)}>
        <VersionFields form={form} defaultPath={version.gateway_path} />
      </RecordForm>
    </Panel>
  );
  return (
    <>
      <PageHead
        title={`${app} ${version.version}`}
        trail={<Trail path={path} />}
        summary={<StatusBadge status={version.status} />}
        actions={
          <>
            {revisions.length > 0 && <TryLink app={app} version={version.version} />}
            {mayEdit && (
              <>
                <RollBackButton path={path} revisions={revisions} />
                <Button look="main" onClick={() => setMaking('revision')}>
                  {appsWords.createRevision}
                </Button>
                <DeleteButton path={path} name={version.version} etag={answer.etag} />
              </>
            )}
          </>
        }
      />
      <Stack>
        {making === 'revision' && (
          <Panel title={appsWords.createRevision}>
            <CreateRevisionForm
              app={app}
              version={version.version}
              siblings={revisions}
              onCancel={() => setMaking('')}
              onCreated={(revision) => void navigate(pageLink({ ...path, revision }))}
            />
          </Panel>
        )}
        <Tabs
          label={appsWords.views(version.version)}
          value={tab}
          onValue={setTab}
          tabs={[
            { value: 'overview', label: appsWords.tabs.overview, content: overview },
            ...(mayEdit ? [{ value: 'edit', label: appsWords.tabs.edit, content: edit }] : []),
          ]}
        />
      </Stack>
    </>
  );
}

interface OverviewProps {
  readonly path: ResourcePath;
  readonly answer: Answer<VersionEnvelope>;
  readonly revisions: readonly Revision[];
}

function VersionOverview({ path, answer, revisions }: OverviewProps): ReactNode {
  const version = answer.body.data;
  return (
    <Stack>
      {revisions.length > 0 && <TrafficPanel path={path} revisions={revisions} />}
      <Panel title={appsWords.revisionsOf} isFlush>
        <RevisionTable path={path} revisions={revisions} />
      </Panel>
      <Columns>
        <LifecyclePanel path={path} version={version} etag={answer.etag} />
        <Panel title={appsWords.kinds.version}>
          <VersionFacts version={version} />
        </Panel>
      </Columns>
    </Stack>
  );
}

function VersionFacts({ version }: { readonly version: Version }): ReactNode {
  const { facts } = appsWords;
  return (
    <KeyValues
      rows={[
        [facts.path, <code key="path">{version.gateway_path}</code>],
        [facts.created, <Time key="created" at={version.created_at} />],
        [facts.changed, <Time key="changed" at={version.updated_at} />],
        [facts.id, <code key="id">{version.id}</code>],
      ]}
    />
  );
}
