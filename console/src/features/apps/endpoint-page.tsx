/** An endpoint: a method and path of a revision. */
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Answer } from '../../api/call.ts';
import { useRead } from '../../api/queries.ts';
import type { Endpoint, EndpointEnvelope } from '../../api/schema.ts';
import { appsWords, fieldWords } from '../../text/apps.ts';
import { Badge } from '../../ui/display/badge.tsx';
import { KeyValues } from '../../ui/display/key-values.tsx';
import { PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { Tabs } from '../../ui/overlay/tabs.tsx';
import { EndpointFields } from './forms/endpoint-form.tsx';
import { RecordForm } from './forms/form-fields.tsx';
import { ENDPOINT_FIELDS } from './forms/record-fields.ts';
import { useEditForm } from './forms/use-record-form.ts';
import { DeleteButton } from './parts/delete-button.tsx';
import { PolicySummary } from './parts/policy-summary.tsx';
import { policyTab } from './parts/policy-tab.tsx';
import { RecordLoaded } from './parts/record-loaded.tsx';
import { useRecordView } from './parts/record-view.ts';
import { Trail } from './parts/resource-link.tsx';
import { OPERATIONS, apiPath } from './resource-path.ts';

interface EndpointParams {
  readonly app: string;
  readonly version: string;
  readonly revision: string;
  readonly endpoint: string;
}

export function EndpointPage(): ReactNode {
  const { app, version, revision, endpoint } = useParams({ strict: false }) as EndpointParams;
  const path = { app_id: app, version_id: version, revision_id: revision, endpoint_id: endpoint };
  const query = useRead(`GET ${OPERATIONS.endpoint}`, { path });
  return (
    <RecordLoaded path={{ app, version, revision, endpoint }} query={query}>
      {(answer) => (
        <EndpointView key={answer.body.data.id} path={{ app, version, revision, endpoint }} answer={answer} />
      )}
    </RecordLoaded>
  );
}

interface EndpointViewProps {
  readonly path: EndpointParams;
  readonly answer: Answer<EndpointEnvelope>;
}

function EndpointView({ path, answer }: EndpointViewProps): ReactNode {
  const endpoint = answer.body.data;
  const name = `${endpoint.method} ${endpoint.path}`;
  const { tab, setTab, mayEdit } = useRecordView();
  const form = useEditForm({
    name,
    operation: OPERATIONS.endpoint,
    path: apiPath(path),
    words: fieldWords.endpoint,
    kinds: ENDPOINT_FIELDS,
    record: endpoint,
    etag: answer.etag,
  });
  const edit = (
    <Panel>
      <RecordForm form={form} label={appsWords.saveOf(name)}>
        <EndpointFields form={form} />
      </RecordForm>
    </Panel>
  );
  return (
    <>
      <PageHead
        title={name}
        trail={<Trail path={path} />}
        summary={!endpoint.is_active && <Badge tone="warn">{appsWords.disabled}</Badge>}
        actions={<DeleteButton path={path} name={endpoint.path} etag={answer.etag} />}
      />
      <Stack>
        <Tabs
          label={appsWords.views(name)}
          value={tab}
          onValue={setTab}
          tabs={[
            {
              value: 'overview',
              label: appsWords.tabs.overview,
              content: <EndpointFacts endpoint={endpoint} />,
            },
            policyTab('endpoint', path),
            ...(mayEdit ? [{ value: 'edit', label: appsWords.tabs.edit, content: edit }] : []),
          ]}
        />
      </Stack>
    </>
  );
}

function EndpointFacts({ endpoint }: { readonly endpoint: Endpoint }): ReactNode {
  const { facts } = appsWords;
  return (
    <Panel>
      <KeyValues
        rows={[
          [facts.method, endpoint.method === '*' ? appsWords.methods.any : endpoint.method],
          [facts.pathOf, <code key="path">{endpoint.path}</code>],
          [facts.backendPath, endpoint.backend_path ?? appsWords.samePath],
          [facts.served, appsWords.yesNo(endpoint.is_active)],
          [facts.policy, <PolicySummary key="policy" policy={endpoint.policy_override} />],
          [facts.created, <Time key="created" at={endpoint.created_at} />],
          [facts.changed, <Time key="changed" at={endpoint.updated_at} />],
          [facts.id, <code key="id">{endpoint.id}</code>],
        ]}
      />
    </Panel>
  );
}
