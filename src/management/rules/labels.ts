/** Natural labels stand for ids in paths, so they must not look like one. */
import { Format } from 'typebox/format';
import type { FieldError } from '../../model/errors.ts';

/** Rules of a slug or label that its pattern cannot say. */
export function labelErrors(text: string, pointer: string): FieldError[] {
  if (!Format.IsUuid(text)) return [];
  return [{ pointer, detail: 'must not look like a UUID: it could not be told from an id' }];
}
