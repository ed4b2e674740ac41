/**
 * The first app in four fields, then a test request. The app is in the address (`?app=orders`), so that the page can
 * be opened again. The value of its key is kept until the browser loads the console again.
 */
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import { useMay } from '../../page/session.ts';
import { useSearchText } from '../../page/search-text.ts';
import { startWords } from '../../text/start.ts';
import { ButtonLink } from '../../ui/controls/button.tsx';
import { Loaded, Note } from '../../ui/display/notes.tsx';
import { PageHead } from '../../ui/display/panel.tsx';
import { FIRST_REVISION, FIRST_VERSION } from './draft.ts';
import { MadeApp } from './made-app.tsx';
import { StartForm } from './start-form.tsx';

export function StartPage(): ReactNode {
  const [app, setApp] = useSearchText('app');
  const keys = useMadeKeys();
  const mayMake = useMay('editor');
  if (app !== '') {
    return <Made app={app} keyValue={keys.of(app)} onAnother={() => setApp('')} />;
  }
  return (
    <>
      <PageHead
        title={startWords.newApp}
        summary={startWords.summary}
        actions={mayMake && <ButtonLink to="/import">{startWords.import}</ButtonLink>}
      />
      {mayMake ? (
        <StartForm
          onMade={(slug, value) => {
            keys.keep(slug, value);
            setApp(slug);
          }}
        />
      ) : (
        <Note>{startWords.viewer}</Note>
      )}
    </>
  );
}

interface MadeKeys {
  /** Empty when no key was created since the console was loaded. */
  of(app: string): string;
  keep(app: string, value: string): void;
}

/** In memory only, so that visiting another page does not lose a value that cannot be shown again. */
function useMadeKeys(): MadeKeys {
  const client = useQueryClient();
  const keyOf = (app: string) => ['made key', app];
  return {
    of: (app) => client.getQueryData<string>(keyOf(app)) ?? '',
    keep: (app, value) => {
      client.setQueryDefaults(keyOf(app), { gcTime: Infinity });
      client.setQueryData(keyOf(app), value);
    },
  };
}

interface MadeProps {
  readonly app: string;
  readonly keyValue: string;
  readonly onAnother: () => void;
}

/** Reads the created app, which may have been changed meanwhile. */
function Made({ app, keyValue, onAnother }: MadeProps): ReactNode {
  const path = { app_id: app, version_id: FIRST_VERSION, revision_id: FIRST_REVISION };
  const record = useRead('GET /apps/{app_id}', { path: { app_id: app } });
  const version = useRead('GET /apps/{app_id}/versions/{version_id}', {
    path: { app_id: app, version_id: FIRST_VERSION },
  });
  const revision = useRead('GET /apps/{app_id}/versions/{version_id}/revisions/{revision_id}', { path });
  return (
    <Loaded query={record}>
      {({ body: ofApp }) => (
        <Loaded query={version}>
          {({ body: ofVersion }) => (
            <Loaded query={revision}>
              {({ body: ofRevision }) => (
                <MadeApp
                  key={app}
                  app={ofApp.data}
                  version={ofVersion.data}
                  revision={ofRevision.data}
                  keyValue={keyValue}
                  onAnother={onAnother}
                />
              )}
            </Loaded>
          )}
        </Loaded>
      )}
    </Loaded>
  );
}
