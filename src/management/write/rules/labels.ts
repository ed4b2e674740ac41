/**
 * Natural labels can replace ids in paths, so they must not look like ids; labels are also keys of objects in
 * bodies.
 */
import { Format } from 'typebox/format';
import type { FieldError } from '../../../model/errors.ts';

/** Rules of a slug or label that its pattern cannot express. */
export function labelErrors(text: string, pointer: string): FieldError[] {
  // No JSON body could name it (strict-json.ts).
  if (text === '__proto__') return [{ pointer, detail: 'must not be "__proto__"' }];
  if (!Format.IsUuid(text)) return [];
  return [{ pointer, detail: 'must not look like a UUID, because it could not be distinguished from an id' }];
}
