/**
 * Saving: a page says which write it wants to make; the reader sees first what it would do, and the same change as
 * curl, command line and YAML, then makes it or not.
 */
import { createContext, useContext } from 'react';
import type { ApiError } from '../../api/api-error.ts';
import type { Answer, AnyCallOptions } from '../../api/call.ts';
import type { Fields } from './merge-patch.ts';

export interface Change {
  /** Such as "Save billing". */
  readonly title: string;
  /** The button that makes it. */
  readonly action?: string;
  /** `PATCH /apps/{app_id}`: method and path template below /api/v1. */
  readonly operation: string;
  readonly options: Pick<AnyCallOptions, 'path' | 'query' | 'body' | 'ifMatch'>;
  /** Shown when it has been made. */
  readonly done: string;
  /** What is lost by it and cannot be got back: the name must be typed. */
  readonly confirmName?: string;
  /**
   * Of a PATCH: the fields that it changes, as they were read. A conflict then tells what others changed since, and the
   * change can be taken back.
   */
  readonly base?: Fields;
  /** The gateway refuses values: the page shows the messages at its fields, and the dialog closes. */
  readonly onRefused?: (error: ApiError) => void;
  /**
   * Another write came first (412): the page shows both sides, and the dialog closes. Without it the dialog shows both
   * sides, with a choice for each field.
   */
  readonly onConflict?: (error: ApiError) => void;
  /** Goes to another page once it has been made, before everything shown is read again: the record is gone. */
  readonly leave?: () => Promise<void>;
  /** False for the writes that the API cannot try first. */
  readonly hasDryRun?: boolean;
  /** The write that takes it back; for a PATCH with `base` it is worked out. */
  readonly undo?: Pick<Change, 'operation' | 'options'>;
}

/** Resolves with the answer when the change was made, with undefined when the reader thought better of it. */
export type Save = <Result = unknown>(change: Change) => Promise<Answer<Result> | undefined>;

export const SaveContext = createContext<Save | undefined>(undefined);

export function useSave(): Save {
  const save = useContext(SaveContext);
  if (save === undefined) throw new Error('Cannot save outside of the save provider');
  return save;
}
