/** Pages that are not there, and pages that failed. */
import { Link, type ErrorComponentProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { shellWords } from '../text/shell.ts';
import { Button } from '../ui/controls/button.tsx';
import { ErrorNote, Note } from '../ui/display/notes.tsx';
import { PageHead, Stack } from '../ui/display/panel.tsx';

export function PageNotFound(): ReactNode {
  return (
    <Stack>
      <PageHead title={shellWords.notFound} summary={shellWords.notFoundDetail} />
      <Link to="/">{shellWords.toOverview}</Link>
    </Stack>
  );
}

/** What browsers and the loader of the pages say when a file does not come. */
const FILE_AWAY = /dynamically imported module|Importing a module|preload/i;

function isFileAway(error: unknown): boolean {
  return error instanceof Error && FILE_AWAY.test(error.message);
}

/** Also where a page's files are gone because the gateway was updated: the new ones come with the page. */
export function PageFailed({ error }: ErrorComponentProps): ReactNode {
  return (
    <Stack>
      <PageHead title={shellWords.pageFailed} />
      {isFileAway(error) ? (
        <Note tone="bad">{shellWords.fileAway}</Note>
      ) : (
        <ErrorNote error={error instanceof Error ? error : new Error(String(error))} />
      )}
      <div>
        <Button onClick={() => window.location.reload()}>{shellWords.reload}</Button>
      </div>
    </Stack>
  );
}
