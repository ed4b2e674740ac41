/** What the API refused, as far as no field of a form shows it. */
import type { ReactNode } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { ErrorNote } from '../../ui/display/notes.tsx';

interface RefusalProps {
  readonly error: Error | undefined;
  /** Of the fields that show their message themselves. */
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
