/** Pages that are not there, and pages that failed. */
import { Link, type ErrorComponentProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { shellWords } from '../text/shell.ts';
import { Button } from '../ui/controls/button.tsx';
import { ErrorNote } from '../ui/display/notes.tsx';
import { PageHead, Stack } from '../ui/display/panel.tsx';

export function PageNotFound(): ReactNode {
  return (
    <Stack>
      <PageHead title={shellWords.notFound} summary={shellWords.notFoundDetail} />
      <Link to="/">{shellWords.toOverview}</Link>
    </Stack>
  );
}

/** Also where a page's files are gone because the gateway was updated: the new ones come with the page. */
export function PageFailed({ error }: ErrorComponentProps): ReactNode {
  return (
    <Stack>
      <PageHead title={shellWords.pageFailed} />
      <ErrorNote error={error instanceof Error ? error : new Error(String(error))} />
      <div>
        <Button onClick={() => window.location.reload()}>{shellWords.reload}</Button>
      </div>
    </Stack>
  );
}
