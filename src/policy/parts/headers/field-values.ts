/**
 * The value of a template for a request. Nothing from a client, a token or a key can end a line: texts of keys and
 * claims are encoded as in the gateway's own fields (caller.ts), and of other texts only characters of field values
 * remain (RFC 9110 section 5.5), including obs-text. No state.
 */
import { FIELD_TEXT, isBlank } from '../../../http/characters.ts';
import { FIELD_VALUE_CHARS_MAX, fieldText, ownClaim } from '../../caller.ts';
import type { FieldSubject } from '../../stage.ts';
import type { Source, Template } from './template.ts';

/** @returns undefined where the field is left out: its only source is absent, or the value is too long */
export type FieldValue = (subject: FieldSubject) => string | undefined;
/** '' for what is absent. */
type Read = (subject: FieldSubject) => string;

/** @param isWithheld whether the template must not read a request field, by its folded name */
export function compileTemplate(
  template: Template,
  isWithheld: (name: string) => boolean,
): string | FieldValue {
  if (template.every((part) => typeof part === 'string')) return template.join('');
  const reads = template.map((part) => (typeof part === 'string' ? () => part : readerOf(part, isWithheld)));
  const isSingle = reads.length === 1;
  return (subject) => {
    let text = '';
    for (const read of reads) {
      text += read(subject);
      // A value that is cut may be a valid other one.
      if (text.length > FIELD_VALUE_CHARS_MAX) return undefined;
    }
    return isSingle && text === '' ? undefined : withoutBlankEnds(text);
  };
}

function readerOf(source: Source, isWithheld: (name: string) => boolean): Read {
  switch (source.kind) {
    case 'caller.id':
      return ({ evaluation }) => encoded(evaluation.caller.id);
    case 'caller.key_name':
      return ({ evaluation }) => encoded(evaluation.caller.name);
    case 'client.ip':
      return ({ clientIp }) => fieldCharacters(clientIp);
    case 'request.id':
      return ({ requestId }) => fieldCharacters(requestId);
    case 'claim': {
      const { name } = source;
      return ({ evaluation: { caller } }) => claimText(caller.claims && ownClaim(caller.claims, name));
    }
    case 'header': {
      const { name } = source;
      if (isWithheld(name)) return () => '';
      return (subject) => fieldCharacters(subject.combinedPassing(name) ?? '');
    }
    case 'path': {
      const { name } = source;
      return (subject) => fieldCharacters(subject.pathParameter(name) ?? '');
    }
  }
}

/** Texts, numbers and booleans unchanged; lists and objects as JSON. */
function claimText(value: unknown): string {
  if (value === undefined) return '';
  return encoded(typeof value === 'string' ? value : JSON.stringify(value));
}

/** A text that is too long stays too long when it is encoded in part. */
function encoded(text: string): string {
  return fieldText(text.length > FIELD_VALUE_CHARS_MAX ? text.slice(0, FIELD_VALUE_CHARS_MAX + 1) : text);
}

/** The characters of a text that a field value may contain. */
function fieldCharacters(text: string): string {
  let kept = '';
  let from = 0;
  for (let index = 0; index < text.length; index++) {
    if (FIELD_TEXT[text.charCodeAt(index)] === 1) continue;
    kept += text.slice(from, index);
    from = index + 1;
  }
  return from === 0 ? text : kept + text.slice(from);
}

function withoutBlankEnds(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}
