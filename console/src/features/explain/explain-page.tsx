/** Explain: a request that is described here, or a recent one by its id. What is secret stays in this page. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type FormEvent, type ReactNode } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { useRead } from '../../api/queries.ts';
import type { ExplainInput } from '../../api/schema.ts';
import { stringifySearch, type PageSearch } from '../../page/search-text.ts';
import { useMay } from '../../page/session.ts';
import { explainWords } from '../../text/explain.ts';
import { Button } from '../../ui/controls/button.tsx';
import { CopyButton } from '../../ui/controls/copy-button.tsx';
import { Loaded } from '../../ui/display/notes.tsx';
import { PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { DescribedFields } from './described-fields.tsx';
import {
  formOf,
  inputOf,
  isInput,
  linkOf,
  type DescribedForm,
  type FormErrors,
} from './described-request.ts';
import { DebugTokensPanel } from './debug-tokens-panel.tsx';
import { ExplanationView } from './explanation-view.tsx';
import { RecordedForm } from './recorded-form.tsx';
import { SamplingPanel } from './sampling-panel.tsx';
import { SendForReal } from './send-for-real.tsx';
import styles from './explain.module.css';

interface Asked {
  readonly form: DescribedForm;
  readonly input: ExplainInput;
}

export function ExplainPage(): ReactNode {
  const search = useSearch({ strict: false }) as PageSearch;
  const requestId = search['request_id'] ?? '';
  return (
    <>
      <PageHead title={explainWords.title} summary={explainWords.summary} />
      {requestId === '' ? <Described search={search} /> : <Recorded key={requestId} requestId={requestId} />}
    </>
  );
}

function Recorded({ requestId }: { readonly requestId: string }): ReactNode {
  const query = useRead('GET /explain/{request_id}', { path: { request_id: requestId } });
  return (
    <Stack>
      <RecordedForm requestId={requestId} />
      <Loaded query={query}>
        {({ body }) => <ExplanationView explanation={body.data} source={{ request_id: requestId }} />}
      </Loaded>
    </Stack>
  );
}

function Described({ search }: { readonly search: PageSearch }): ReactNode {
  const navigate = useNavigate();
  const maySend = useMay('editor');
  const isAdmin = useMay('admin');
  const [form, setForm] = useState(() => formOf(search));
  const [errors, setErrors] = useState(() => errorsOf(formOf(search)));
  const [asked, setAsked] = useState<Asked | undefined>(() => askedBy(formOf(search)));
  const query = useRead(
    'POST /explain',
    { body: asked?.input ?? { method: 'GET', url: '/' } },
    { enabled: asked !== undefined, keepPrevious: true },
  );
  const refused = query.error instanceof ApiError ? query.error : undefined;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const input = inputOf(form);
    setErrors(errorsOf(form));
    if (!isInput(input)) return;
    setAsked({ form, input });
    void navigate({ to: '.', replace: true, search: linkOf(form) } as never);
    if (asked !== undefined && JSON.stringify(asked.input) === JSON.stringify(input)) void query.refetch();
  };
  const explanation = asked === undefined || query.isError ? undefined : query.data?.body.data;
  return (
    <Stack>
      <Panel title={explainWords.form}>
        <form className={styles['form']} onSubmit={submit}>
          <DescribedFields
            form={form}
            errors={{ ...fieldErrors(refused), ...errors }}
            onForm={(part) => setForm({ ...form, ...part })}
          />
          <div className={styles['buttons']}>
            <Button type="submit" look="main" isBusy={query.isFetching} disabled={form.url.trim() === ''}>
              {explainWords.ask}
            </Button>
            {asked !== undefined && (
              <CopyButton
                label={explainWords.copyLink}
                text={`${window.location.origin}/explain${stringifySearch(linkOf(asked.form))}`}
              />
            )}
          </div>
        </form>
      </Panel>
      {asked !== undefined && explanation !== undefined && (
        <>
          {maySend && <SendForReal form={asked.form} explained={explanation.request.headers} />}
          <ExplanationView explanation={explanation} source={{ request: asked.input }} />
        </>
      )}
      {asked === undefined && (
        <>
          <RecordedForm requestId="" />
          <SamplingPanel />
          {isAdmin && <DebugTokensPanel />}
        </>
      )}
      {asked !== undefined && query.isError && (
        <Loaded query={{ ...query, data: undefined }}>{() => null}</Loaded>
      )}
    </Stack>
  );
}

function errorsOf(form: DescribedForm): FormErrors {
  const input = inputOf(form);
  return isInput(input) ? {} : input.errors;
}

/** A link is asked at once. */
function askedBy(form: DescribedForm): Asked | undefined {
  const input = inputOf(form);
  return form.url !== '' && isInput(input) ? { form, input } : undefined;
}

function fieldErrors(refused: ApiError | undefined): FormErrors {
  if (refused === undefined) return {};
  const places = [
    ['method', '/method'],
    ['url', '/url'],
    ['headers', '/headers'],
    ['token', '/token'],
    ['host', '/host'],
    ['clientIp', '/client_ip'],
    ['bodyBytes', '/body_bytes'],
  ] as const;
  return Object.fromEntries(
    places.flatMap(([name, pointer]) => {
      const message = refused.fieldMessage(pointer);
      return message === undefined ? [] : [[name, message]];
    }),
  );
}
