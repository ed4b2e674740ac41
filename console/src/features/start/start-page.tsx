/**
 * The first app in four fields, then a test request. Which app stands in the address (`?app=orders`), so that the page
 * can be opened again; only the value of the key is gone then.
 */
import { useState, type ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import { useMay } from '../../page/session.ts';
import { useSearchText } from '../../page/search-text.ts';
import { startWords } from '../../text/start.ts';
import { Loaded, Note } from '../../ui/display/notes.tsx';
import { PageHead } from '../../ui/display/panel.tsx';
import { FIRST_REVISION, FIRST_VERSION } from './draft.ts';
import { MadeApp } from './made-app.tsx';
import { StartForm } from './start-form.tsx';

export function StartPage(): ReactNode {
  const [app, setApp] = useSearchText('app');
  const [key, setKey] = useState('');
  const mayMake = useMay('editor');
  if (app !== '') {
    return (
      <Made
        app={app}
        keyValue={key}
        onAnother={() => {
          setKey('');
          setApp('');
        }}
      />
    );
  }
  return (
    <>
      <PageHead title={startWords.newApp} summary={startWords.summary} />
      {mayMake ? (
        <StartForm
          onMade={(slug, value) => {
            setKey(value);
            setApp(slug);
          }}
        />
      ) : (
        <Note>{startWords.viewer}</Note>
      )}
    </>
  );
}

interface MadeProps {
  readonly app: string;
  readonly keyValue: string;
  readonly onAnother: () => void;
}

/** Reads what was made, as it may have been changed meanwhile. */
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
