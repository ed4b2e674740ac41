/** A revision: its backend, its health, its endpoints; it can be activated, cloned, and taken out of traffic. */
import { useNavigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Answer } from '../../api/call.ts';
import { useRead } from '../../api/queries.ts';
import type { Revision, RevisionEnvelope } from '../../api/schema.ts';
import { appsWords, cloneWords, fieldWords, trafficWords } from '../../text/apps.ts';
import { Button, ButtonLink } from '../../ui/controls/button.tsx';
import { Badge } from '../../ui/display/badge.tsx';
import { Columns, PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { Tabs } from '../../ui/overlay/tabs.tsx';
import { CreateEndpointForm } from './forms/endpoint-form.tsx';
import { RecordForm } from './forms/form-fields.tsx';
import { REVISION_FIELDS, copyOfRevision, shownRevision } from './forms/record-fields.ts';
import { CloneRevisionForm, RevisionFields } from './forms/revision-form.tsx';
import { useEditForm } from './forms/use-record-form.ts';
import { DeleteButton } from './parts/delete-button.tsx';
import { EndpointList } from './parts/endpoint-list.tsx';
import { HealthPanel, TargetsPanel } from './parts/health-panel.tsx';
import { policyTab } from './parts/policy-tab.tsx';
import { RecordLoaded } from './parts/record-loaded.tsx';
import { useRecordView } from './parts/record-view.ts';
import { Trail, pageLink } from './parts/resource-link.tsx';
import { RevisionFacts } from './parts/revision-facts.tsx';
import { apiPath } from './resource-path.ts';
import { ActivateButton, DeactivateButton } from './traffic/activate-buttons.tsx';

const VERSION_PATH = '/apps/{app_id}/versions/{version_id}';
const REVISION_PATH = `${VERSION_PATH}/revisions/{revision_id}` as const;

interface RevisionParams {
  readonly app: string;
  readonly version: string;
  readonly revision: string;
}

export function RevisionPage(): ReactNode {
  const params = useParams({ strict: false }) as RevisionParams;
  const path = { app_id: params.app, version_id: params.version };
  const query = useRead(`GET ${REVISION_PATH}`, { path: { ...path, revision_id: params.revision } });
  const siblings = useRead(`GET ${VERSION_PATH}/revisions`, { path, query: { limit: 500 } });
  return (
    <RecordLoaded path={params} query={query}>
      {(answer) => (
        <RevisionView
          key={answer.body.data.id}
          app={params.app}
          version={params.version}
          answer={answer}
          siblings={siblings.data?.body.data ?? []}
        />
      )}
    </RecordLoaded>
  );
}

interface RevisionViewProps {
  readonly app: string;
  readonly version: string;
  readonly answer: Answer<RevisionEnvelope>;
  readonly siblings: readonly Revision[];
}

function RevisionView({ app, version, answer, siblings }: RevisionViewProps): ReactNode {
  const revision = answer.body.data;
  const above = { app, version };
  const path = { ...above, revision: revision.revision };
  const navigate = useNavigate();
  const { tab, setTab, mayEdit, setMaking } = useRecordView();
  const form = useEditForm({
    name: revision.revision,
    operation: REVISION_PATH,
    path: apiPath({ ...above, revision: revision.id }),
    words: fieldWords.revision,
    kinds: REVISION_FIELDS,
    record: shownRevision(revision) as Readonly<Record<string, unknown>>,
    shown: shownRevision,
    etag: answer.etag,
    onSaved: ({ revision: label }) => {
      if (label !== revision.revision) void navigate(pageLink({ ...above, revision: String(label) }));
    },
  });
  const overview = (
    <Stack>
      <Columns>
        <Panel title={appsWords.kinds.revision}>
          <RevisionFacts revision={revision} />
        </Panel>
        <HealthPanel path={path} />
      </Columns>
      <TargetsPanel path={path} />
    </Stack>
  );
  const edit = (
    <Panel>
      <RecordForm form={form} label={appsWords.saveOf(revision.revision)}>
        <RevisionFields form={form} />
      </RecordForm>
    </Panel>
  );
  return (
    <>
      <PageHead
        title={`${app} ${version} ${revision.revision}`}
        trail={<Trail path={path} />}
        summary={<TrafficState revision={revision} />}
        actions={
          mayEdit && (
            <>
              <ActivateButton path={above} revisions={siblings} revision={revision.revision} />
              {revision.is_current && <DeactivateButton path={path} />}
              {siblings.length > 1 && (
                <ButtonLink to="/apps/$app/versions/$version" params={above}>
                  {trafficWords.split}
                </ButtonLink>
              )}
              <Button onClick={() => setMaking('clone')}>{cloneWords.action}</Button>
              <DeleteButton path={path} name={revision.revision} etag={answer.etag} />
            </>
          )
        }
      />
      <Stack>
        <MakingPanel {...above} revision={revision} />
        <Tabs
          label={appsWords.views(revision.revision)}
          value={tab}
          onValue={setTab}
          tabs={[
            { value: 'overview', label: appsWords.tabs.overview, content: overview },
            { value: 'endpoints', label: appsWords.tabs.endpoints, content: <EndpointList path={path} /> },
            policyTab('revision', path),
            ...(mayEdit ? [{ value: 'edit', label: appsWords.tabs.edit, content: edit }] : []),
          ]}
        />
      </Stack>
    </>
  );
}

function TrafficState({ revision }: { readonly revision: Revision }): ReactNode {
  return (
    <Badge tone={revision.is_current ? 'good' : 'neutral'}>
      {revision.is_current ? appsWords.getsTraffic : appsWords.noTraffic}
    </Badge>
  );
}

interface MakingPanelProps {
  readonly app: string;
  readonly version: string;
  readonly revision: Revision;
}

/** A clone, or an endpoint. */
function MakingPanel({ app, version, revision }: MakingPanelProps): ReactNode {
  const { making, setMaking } = useRecordView();
  const navigate = useNavigate();
  const path = { app, version, revision: revision.revision };
  const cancel = (): void => setMaking('');
  if (making === 'clone') {
    return (
      <Panel title={cloneWords.title(revision.revision)}>
        <CloneRevisionForm
          app={app}
          version={version}
          label={revision.revision}
          original={copyOfRevision(revision)}
          onCancel={cancel}
          onCreated={(label) => void navigate(pageLink({ app, version, revision: label }))}
        />
      </Panel>
    );
  }
  if (making !== 'endpoint') return null;
  return (
    <Panel title={appsWords.createEndpoint}>
      <CreateEndpointForm
        path={path}
        onCancel={cancel}
        onCreated={(endpoint) => void navigate(pageLink({ ...path, endpoint }))}
      />
    </Panel>
  );
}
