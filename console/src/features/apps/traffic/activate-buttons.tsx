/** Sends all traffic of a version to one revision: a new one, or the former one. */
import type { ReactNode } from 'react';
import type { Revision } from '../../../api/schema.ts';
import { useMay } from '../../../page/session.ts';
import { trafficWords } from '../../../text/apps.ts';
import { Button } from '../../../ui/controls/button.tsx';
import { useSave, type Change } from '../../save/save-context.ts';
import { OPERATIONS, apiPath, type ResourcePath } from '../resource-path.ts';
import { formerRevision, weightsOf } from './split.ts';

interface TrafficButtonProps {
  /** The path of the version. */
  readonly path: ResourcePath;
  readonly revisions: readonly Revision[];
}

/** The write that restores the present split; undefined when no revision gets traffic. */
function undoOf(path: ResourcePath, revisions: readonly Revision[]): object {
  const current = revisions.filter((one) => one.is_current);
  if (current.length === 0) return {};
  const shares = current.map(({ revision, traffic_weight: weight }) => ({ revision, weight }));
  const operation = `PUT ${OPERATIONS.version}/traffic`;
  return { undo: { operation, options: { path: apiPath(path), body: weightsOf(shares) } } };
}

export function RollBackButton({ path, revisions }: TrafficButtonProps): ReactNode {
  const save = useSave();
  const former = formerRevision(revisions);
  if (former === undefined) return null;
  const rollBack = (): Promise<unknown> =>
    save({
      title: trafficWords.activateTitle(former),
      action: trafficWords.rollBack(former),
      operation: `PUT ${OPERATIONS.version}/traffic`,
      options: { path: apiPath(path), body: { [former]: 100 } },
      done: trafficWords.activated(former),
      ...undoOf(path, revisions),
    });
  return <Button onClick={() => void rollBack()}>{trafficWords.rollBack(former)}</Button>;
}

type Write = Pick<Change, 'operation' | 'options'>;

/** Activation keeps the weight, and a weight of 0 would get nothing. */
function activationOf(path: ResourcePath, revisions: readonly Revision[], revision: string): Write {
  const weight = revisions.find((one) => one.revision === revision)?.traffic_weight;
  return weight === 0
    ? {
        operation: `PUT ${OPERATIONS.version}/traffic`,
        options: { path: apiPath(path), body: { [revision]: 100 } },
      }
    : {
        operation: `POST ${OPERATIONS.revision}/activate`,
        options: { path: apiPath({ ...path, revision }), body: { exclusive: true } },
      };
}

interface ActivateProps extends TrafficButtonProps {
  readonly revision: string;
  readonly isSmall?: boolean;
}

export function ActivateButton({ path, revisions, revision, isSmall = false }: ActivateProps): ReactNode {
  const save = useSave();
  const mayEdit = useMay('editor');
  const current = revisions.filter((one) => one.is_current);
  if (!mayEdit || (current.length === 1 && current[0]?.revision === revision)) return null;
  const activate = (): Promise<unknown> =>
    save({
      title: trafficWords.activateTitle(revision),
      action: trafficWords.activate,
      ...activationOf(path, revisions, revision),
      done: trafficWords.activated(revision),
      ...undoOf(path, revisions),
    });
  return (
    <Button isSmall={isSmall} aria-label={trafficWords.activateOf(revision)} onClick={() => void activate()}>
      {trafficWords.activate}
    </Button>
  );
}

export function DeactivateButton({ path }: { readonly path: ResourcePath }): ReactNode {
  const save = useSave();
  const revision = path.revision ?? '';
  const deactivate = (): Promise<unknown> =>
    save({
      title: trafficWords.deactivateOf(revision),
      action: trafficWords.deactivate,
      operation: `POST ${OPERATIONS.revision}/deactivate`,
      options: { path: apiPath(path) },
      done: trafficWords.deactivated(revision),
      undo: {
        operation: `POST ${OPERATIONS.revision}/activate`,
        options: { path: apiPath(path), body: { exclusive: false } },
      },
    });
  return <Button onClick={() => void deactivate()}>{trafficWords.deactivate}</Button>;
}
