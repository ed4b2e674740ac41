/** Imports an OpenAPI description in three steps: the description, what of it would change, and the change. */
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { call } from '../../api/call.ts';
import { useMay } from '../../page/session.ts';
import { appsWords } from '../../text/apps.ts';
import { importWords } from '../../text/import.ts';
import { Note } from '../../ui/display/notes.tsx';
import { PageHead, Stack } from '../../ui/display/panel.tsx';
import { showToast } from '../../ui/overlay/toasts.tsx';
import { pageLink } from '../apps/parts/resource-link.tsx';
import { SameChange } from '../save/same-change-view.tsx';
import { DescriptionForm, EMPTY, type Description } from './description-form.tsx';
import { ImportPlan } from './import-plan.tsx';
import { readPlan, type Imported } from './plan-shape.ts';
import type { PlanAnswer } from '../save/plan-types.ts';

interface Planned {
  readonly imported: Imported;
  readonly plan: PlanAnswer;
}

/** The call that makes the change. */
const applyOptions = ({ imported: { config, base_version } }: Planned, app: string) => ({
  body: { config, base_version, message: importWords.reason(app) },
});

export function ImportPage(): ReactNode {
  const mayEdit = useMay('editor');
  const [description, setDescription] = useState<Description>(EMPTY);
  const [planned, setPlanned] = useState<Planned>();
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const navigate = useNavigate();
  const client = useQueryClient();
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await work();
    } catch (cause) {
      setError(cause as Error);
    } finally {
      setBusy(false);
    }
  };
  const makePlan = (): Promise<void> => attempt(async () => setPlanned(await planOf(description)));
  const apply = (change: Planned): Promise<void> =>
    attempt(async () => {
      const { app } = description;
      await call('POST /config/apply', applyOptions(change, app));
      showToast({ title: importWords.done(app) });
      await client.invalidateQueries();
      await navigate(pageLink({ app }));
    });
  const head = (
    <PageHead
      title={importWords.title}
      trail={<Link to="/apps">{appsWords.title}</Link>}
      summary={importWords.summary}
    />
  );
  if (!mayEdit) {
    return (
      <>
        {head}
        <Note tone="warn">{importWords.notAllowed}</Note>
      </>
    );
  }
  return (
    <>
      {head}
      <Stack>
        {planned === undefined ? (
          <DescriptionForm
            description={description}
            onChange={setDescription}
            error={error}
            isBusy={isBusy}
            onSubmit={() => void makePlan()}
          />
        ) : (
          <ImportPlan
            imported={planned.imported}
            plan={planned.plan}
            error={error}
            isBusy={isBusy}
            onApply={() => void apply(planned)}
            same={
              <SameChange
                operation="POST /config/apply"
                options={applyOptions(planned, description.app)}
                config={planned.imported.config}
                commanded={{ operation: 'POST /import/openapi', options: { body: description } }}
              />
            }
            onBack={() => {
              setPlanned(undefined);
              setError(undefined);
            }}
          />
        )}
      </Stack>
    </>
  );
}

async function planOf({ document, ...given }: Description): Promise<Planned> {
  const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
  const { body } = await call('POST /import/openapi', {
    body: { ...(options as { readonly app: string }), app: given.app, document },
  });
  const imported = body.data as Imported;
  const planned = await call('POST /config/plan', { body: { config: imported.config } }).catch(
    (error: unknown) => {
      // Its pointers are into the configuration, which the reader has not written.
      throw error instanceof ApiError ? withoutPlaces(error) : error;
    },
  );
  return { imported, plan: { ...readPlan(planned.body.data), warnings: planned.body.warnings ?? [] } };
}

function withoutPlaces(error: ApiError): Error {
  const details = error.fields.map(({ pointer, detail }) => `${pointer} ${detail}`);
  return new ApiError(error.status, {
    ...error.problem,
    errors: [],
    detail: [error.message, ...details].join('; '),
  });
}
