/** Deletes a record with everything below it, by name. */
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMay } from '../../../page/session.ts';
import { appsWords } from '../../../text/apps.ts';
import { words } from '../../../text/words.ts';
import { Button } from '../../../ui/controls/button.tsx';
import { useSave } from '../../save/save-context.ts';
import { OPERATIONS, apiPath, levelOf, type ResourcePath } from '../resource-path.ts';
import { pageLink } from './resource-link.tsx';

interface DeleteButtonProps {
  readonly path: ResourcePath;
  /** The name to type. */
  readonly name: string;
  readonly etag: string | undefined;
}

export function DeleteButton({ path, name, etag }: DeleteButtonProps): ReactNode {
  const save = useSave();
  const navigate = useNavigate();
  const remove = async (): Promise<void> => {
    const level = levelOf(path);
    await save({
      title: appsWords.deleteOf(name),
      action: words.delete,
      operation: `DELETE ${OPERATIONS[level]}`,
      options: {
        path: apiPath(path),
        ifMatch: etag,
        ...(level !== 'endpoint' && { query: { cascade: true } }),
      },
      done: appsWords.deleted(name),
      confirmName: name,
      leave: () => navigate(pageAbove(path)),
    });
  };
  if (!useMay('editor')) return null;
  return (
    <Button look="danger" onClick={() => void remove()}>
      {words.delete}
    </Button>
  );
}

function pageAbove({ app, version, revision, endpoint }: ResourcePath): never {
  if (version === undefined) return { to: '/apps' } as never;
  return pageLink({
    app,
    ...(revision !== undefined && { version }),
    ...(endpoint !== undefined && { revision }),
  });
}
