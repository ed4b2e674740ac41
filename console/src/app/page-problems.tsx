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

/** Errors of browsers and of the loader of the pages when a file cannot be loaded. */
const FILE_AWAY = /dynamically imported module|Importing a module|preload/i;

function isFileAway(error: unknown): boolean {
  return error instanceof Error && FILE_AWAY.test(error.message);
}

/** Also shown when a page's files are gone because the gateway was updated: a reload gets the new ones. */
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
