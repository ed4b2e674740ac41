/**
 * Another write came first. `ConflictSides` is the one view of it: what was read, what is stored now and what was
 * typed, with a choice for each field. `Conflict` is for the save dialog, and also reads what is stored now.
 */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { callByName } from '../../api/call.ts';
import { saveWords as say } from '../../text/save.ts';
import { Loaded, Note } from '../../ui/display/notes.tsx';
import { Time } from '../../ui/display/time.tsx';
import { BothSides, type ShownFields } from './both-sides.tsx';
import { applyPatch, isFields, isSame, mergePatchOf, type Fields } from './merge-patch.ts';
import type { Change } from './save-context.ts';
import styles from './save.module.css';
import { withoutNulls } from './three-way.ts';

interface ConflictProps {
  readonly operation: string;
  readonly options: Change['options'];
  /** The fields as they were read, where the page knows them. */
  readonly base: Fields | undefined;
  /** Goes on with a change that is made for what is stored now. */
  readonly onGoOn: (options: Change['options'], base: Fields) => void;
}

interface Stored {
  readonly fields: Fields;
  readonly etag: string | undefined;
  readonly updatedAt: string | undefined;
}

export function Conflict(props: ConflictProps): ReactNode {
  const { operation, options } = props;
  const stored = useQuery({
    queryKey: ['save', 'stored now', operation, options.path, options.ifMatch],
    queryFn: async (): Promise<Stored> => {
      const read = `GET ${operation.slice(operation.indexOf(' ') + 1)}`;
      const { body, etag } = await callByName<{ readonly data: Fields }>(read, { path: options.path });
      return { fields: body.data, etag, updatedAt: body.data['updated_at'] as string | undefined };
    },
    gcTime: 0,
    staleTime: Infinity,
  });
  return <Loaded query={stored}>{(now) => <Sides {...props} now={now} key={now.etag} />}</Loaded>;
}

function Sides({ options, base, onGoOn, now }: ConflictProps & { readonly now: Stored }): ReactNode {
  const patch = isFields(options.body) ? options.body : {};
  const theirs = picked(now.fields, patch);
  const read = base === undefined ? theirs : picked(base, patch);
  const mine = applyPatch(read, patch) as Fields;
  const goOn = (both: Fields): void =>
    onGoOn(
      { ...options, ifMatch: now.etag, ...(isFields(options.body) && { body: mergePatchOf(theirs, both) }) },
      theirs,
    );
  return <ConflictSides base={base && read} mine={mine} theirs={theirs} at={now.updatedAt} onGoOn={goOn} />;
}

interface ConflictSidesProps {
  /** What both began with, where it is known. */
  readonly base: Fields | undefined;
  readonly mine: Fields;
  readonly theirs: Fields;
  /** When the other write was made. */
  readonly at: string | undefined;
  readonly onGoOn: (both: Fields) => void;
  readonly shown?: ShownFields;
}

/** What was read, what is stored now and what was typed, with a choice for each field. */
export function ConflictSides({ base, mine, theirs, at, onGoOn, shown }: ConflictSidesProps): ReactNode {
  return (
    <section className={styles['block']} aria-label={say.conflict}>
      <Note tone="warn">
        <div role="alert">
          <strong>{say.conflict}</strong>{' '}
          <span>{isSame(mine, theirs) ? say.conflictNone : say.conflictAbout}</span>
        </div>
        {at !== undefined && (
          <span>
            {say.conflictAt} <Time at={at} relative="ago" />
          </span>
        )}
      </Note>
      <BothSides base={base} mine={mine} theirs={theirs} onGoOn={onGoOn} shown={shown} />
    </section>
  );
}

/** The fields that a change is about; null is the same as none, and none the same as an empty object. */
function picked(record: Fields, patch: Fields): Fields {
  const entries = Object.entries(patch).map(([name, change]): [string, unknown] => {
    const value = Object.hasOwn(record, name) ? withoutNulls(record[name]) : undefined;
    return [name, value ?? (isFields(change) ? {} : undefined)];
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined && value !== null));
}
