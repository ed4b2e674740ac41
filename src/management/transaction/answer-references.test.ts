/** Texts with references: whatever a client writes is read as itself, as a value, or refused. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { referenceErrors, resolveBody, resolvePath } from './answer-references.ts';

const RECORD = { id: 'i/1 ?', name: '${app.id}', labels: { team: 'a' }, list: ['x'], size: 7, none: null };
const records = new Map<string, unknown>([['app', RECORD]]);
const pieces = fc.constantFrom(
  '$',
  '{',
  '}',
  '.',
  'app',
  'id',
  '${app.id}',
  '$${',
  '${',
  'a',
  '0',
  '__proto__',
  '/',
);
const texts = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(''));
/** As a client writes a text that is to stay as it is; a `$` before `${` needs no escape of its own. */
const escaped = (text: string): string => text.replaceAll('${', () => '$${');

describe('references in a body', () => {
  it('any text can be written', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(resolveBody({ text: escaped(text) }, records)).toEqual({ value: { text } });
      }),
    );
  });

  it('any text is resolved or refused, and errors found before are found after', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const before = referenceErrors({ text }, (id) => (id === 'app' ? undefined : 'is unknown'));
        const after = resolveBody({ text }, records);
        if (before.length > 0) expect(after).toHaveProperty('errors');
        const pointers = 'errors' in after ? after.errors.map(({ pointer }) => pointer) : [];
        expect(pointers.every((pointer) => pointer === '/text')).toBe(true);
      }),
    );
  });

  it.each([
    ['${app.id}', 'i/1 ?'],
    // What a value says is not read again.
    ['${app.name}', '${app.id}'],
    ['<${app.name}>', '<${app.id}>'],
    ['${app.labels}', { team: 'a' }],
    ['${app.labels.team}', 'a'],
    ['${app.list.0}', 'x'],
    ['${app.size}', 7],
    ['n${app.size}', 'n7'],
    ['${app.none}', null],
    ['$$${app.id}', '$${app.id}'],
  ])('%s is %j', (text, value) => {
    expect(resolveBody(text, records)).toEqual({ value });
  });

  it.each([
    '${app.list.length}',
    '${app.list.1}',
    '${app.id.length}',
    '${app.toString}',
    '${app.}',
    '${.id}',
    '${ app.id }',
  ])('%s is refused', (text) => {
    expect(resolveBody(text, records)).toHaveProperty('errors');
  });

  it('in names of members stay texts', () => {
    expect(resolveBody({ '${app.id}': 1 }, records)).toEqual({ value: { '${app.id}': 1 } });
  });
});

describe('references in a path', () => {
  it('are one segment, whatever the value is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (id) => {
        const found = resolvePath('/apps/${app.id}/versions?q=${app.id}', new Map([['app', { id }]]));
        if (!('value' in found)) throw new Error(found.error);
        const [path = '', query = ''] = found.value.split('?');
        expect(path.split('/')).toHaveLength(4);
        expect(decodeURIComponent(path.split('/')[2] ?? '')).toBe(id);
        expect([...new URLSearchParams(query)]).toEqual([['q', id]]);
      }),
    );
  });
});
