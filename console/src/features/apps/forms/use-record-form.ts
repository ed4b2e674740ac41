/**
 * The state of the form of a record: the edits, the errors of the API, and what another write has changed meanwhile.
 * Edits stay until they are saved or discarded; leaving the page asks first.
 */
import { useState } from 'react';
import type { ApiError } from '../../../api/api-error.ts';
import { callByName, type Answer } from '../../../api/call.ts';
import { useLeaveQuestion } from '../../../page/leave-question.ts';
import { appsWords, type FieldWords } from '../../../text/apps.ts';
import { applyPatch, type Fields } from '../../save/merge-patch.ts';
import { withoutReplacedBackend } from './record-fields.ts';
import { useSave } from '../../save/save-context.ts';
import {
  bodyOf,
  patchOf,
  shownFields,
  shownValue,
  type Edits,
  type FieldKinds,
  type Typed,
} from './record-draft.ts';

type Json = Readonly<Record<string, unknown>>;
type Envelope = { readonly data: Json };

/** Another write came first: the fields by pointer, as the form shows them. */
export interface FormSides {
  readonly base: Edits;
  readonly mine: Edits;
  readonly theirs: Edits;
  /** When the other write was made. */
  readonly at: string | undefined;
  /** Makes both the content of the form, for the record as it is stored now. */
  onGoOn(both: Fields): void;
}

export interface FormState {
  readonly words: FieldWords;
  readonly kinds: FieldKinds;
  readonly error: ApiError | undefined;
  /** Undefined as long as no other write came between. */
  readonly sides: FormSides | undefined;
  readonly isChanged: boolean;
  value(pointer: string): Typed;
  set(pointer: string, value: Typed): void;
  discard(): void;
  submit(): void;
}

interface EditTarget {
  readonly name: string;
  /** Path template of the record, such as `/apps/{app_id}`. */
  readonly operation: string;
  readonly path: Readonly<Record<string, string>>;
  readonly words: FieldWords;
  readonly kinds: FieldKinds;
  /** The record as the form shows it. */
  readonly record: Json;
  readonly etag: string | undefined;
  /** Makes what the form shows of what the API has. */
  readonly shown?: (record: never) => object;
  /** Called with the current record. */
  readonly onSaved?: (record: Json) => void;
}

interface Base {
  readonly record: Json;
  readonly etag: string | undefined;
}

/** The record after a save of this form, until the page has read it. */
interface Saved extends Base {
  /** ETag of the record that the page showed when it was saved. */
  readonly before: string | undefined;
}

/** Changes a record: sends the edits, on the condition that the record is the one that was read. */
export function useEditForm(target: EditTarget): FormState {
  const save = useSave();
  const [edits, setEdits] = useState<Edits>({});
  // The record when editing began: later writes of others must not be overwritten unseen.
  const [base, setBase] = useState<Base>();
  const [saved, setSaved] = useState<Saved>();
  const [error, setError] = useState<ApiError>();
  const [stored, setStored] = useState<Base>();
  // Edits made before the page has read the record again apply to the saved record, not to the one before.
  const latest: Base = saved !== undefined && saved.before === target.etag ? saved : target;
  const { record, etag } = base ?? latest;
  const patch = patchOf(record, edits, target.kinds);
  useLeaveQuestion(patch !== undefined);
  const discard = (): void => {
    setEdits({});
    setBase(undefined);
    setError(undefined);
    setStored(undefined);
  };
  const showBothSides = async (): Promise<void> => {
    setStored(await readRecord(target));
  };
  const sidesOf = (now: Base): FormSides => {
    const before = shownFields(record, target.kinds);
    const theirs = shownFields(now.record, target.kinds);
    return {
      base: before,
      mine: { ...before, ...edits },
      theirs,
      at: now.record['updated_at'] as string | undefined,
      onGoOn: (both) => {
        const changed = Object.entries(both).filter(([pointer, value]) => value !== theirs[pointer]);
        setEdits(Object.fromEntries(changed) as Edits);
        setBase(now);
        setStored(undefined);
      },
    };
  };
  const submit = async (): Promise<void> => {
    if (patch === undefined) return;
    setError(undefined);
    const operation = `PATCH ${target.operation}`;
    const answer = await save<Envelope>({
      title: appsWords.saveOf(target.name),
      operation,
      options: { path: target.path, body: patch, ifMatch: etag },
      done: appsWords.saved(target.name),
      onRefused: setError,
      onConflict: (refusal) => void showBothSides().catch(() => setError(refusal)),
      base: Object.fromEntries(Object.keys(patch).map((name) => [name, record[name]])),
    });
    if (answer === undefined) return;
    discard();
    setSaved({ ...baseOf(target, answer), before: target.etag });
    target.onSaved?.(answer.body.data);
  };
  return {
    words: target.words,
    kinds: target.kinds,
    error,
    sides: stored && sidesOf(stored),
    isChanged: patch !== undefined,
    value: (pointer) => edits[pointer] ?? shownValue(record, pointer, target.kinds[pointer] ?? 'text'),
    set: (pointer, value) => {
      setBase((before) => before ?? { record: latest.record, etag: latest.etag });
      setEdits((before) => ({ ...before, [pointer]: value }));
    },
    discard,
    submit: () => void submit(),
  };
}

async function readRecord(target: EditTarget): Promise<Base> {
  const { operation, path } = target;
  return baseOf(target, await callByName<Envelope>(`GET ${operation}`, { path }));
}

function baseOf({ shown }: EditTarget, { body, etag }: Answer<Envelope>): Base {
  return { record: (shown?.(body.data as never) ?? body.data) as Json, etag };
}

interface CreateTarget {
  readonly title: string;
  /** For example `/apps`. */
  readonly operation: string;
  readonly path?: Readonly<Record<string, string>>;
  readonly words: FieldWords;
  readonly kinds: FieldKinds;
  readonly defaults: Json;
  /** Sent too, unless the form has something else for it. */
  readonly constants?: Json;
  readonly nameOf: (record: Json) => string;
  readonly onCreated: (record: Json) => void;
}

/** Creates a record from the edits; other fields take the defaults of the API. */
export function useCreateForm(target: CreateTarget): FormState {
  const save = useSave();
  const [edits, setEdits] = useState<Edits>({});
  const [error, setError] = useState<ApiError>();
  const isChanged = Object.values(edits).some((value) => value !== '');
  const leave = useLeaveQuestion(isChanged);
  const submit = async (): Promise<void> => {
    setError(undefined);
    const body = createdBody(target, edits);
    const answer: Answer<Envelope> | undefined = await save({
      title: target.title,
      action: target.title,
      operation: `POST ${target.operation}`,
      options: { path: target.path, body },
      done: appsWords.created(target.nameOf(body)),
      onRefused: setError,
    });
    if (answer === undefined) return;
    leave.allow();
    target.onCreated(answer.body.data);
  };
  return {
    words: target.words,
    kinds: target.kinds,
    error,
    sides: undefined,
    isChanged,
    value: (pointer) =>
      edits[pointer] ?? shownValue(target.defaults, pointer, target.kinds[pointer] ?? 'text'),
    set: (pointer, value) => setEdits((before) => ({ ...before, [pointer]: value })),
    discard: () => setEdits({}),
    submit: () => void submit(),
  };
}

/** The edits, over the constant fields; an emptied field takes the default of the API. */
function createdBody({ constants, kinds }: CreateTarget, edits: Edits): Json {
  const typed = bodyOf(edits, kinds, 'with nulls');
  return applyPatch(withoutReplacedBackend(constants ?? {}, typed), typed) as Json;
}
