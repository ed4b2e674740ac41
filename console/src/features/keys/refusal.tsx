/** Errors of the API that no field of a form shows. */
import type { ReactNode } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { ErrorNote } from '../../ui/display/notes.tsx';

interface RefusalProps {
  readonly error: Error | undefined;
  /** Pointers of the fields that show their own errors. */
  readonly pointers: readonly string[];
}

export function Refusal({ error, pointers }: RefusalProps): ReactNode {
  if (error === undefined || isShownAtFields(error, pointers)) return null;
  return <ErrorNote error={error} />;
}

function isShownAtFields(error: Error, pointers: readonly string[]): boolean {
  if (!(error instanceof ApiError)) return false;
  const { fields } = error;
  return (
    fields.length > 0 &&
    fields.every(({ pointer }) => pointers.some((at) => pointer === at || pointer.startsWith(`${at}/`)))
  );
}
