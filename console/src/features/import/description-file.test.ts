import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DESCRIPTION_BYTES_MAX, readDescription, suggestedSlug } from './description-file.ts';

it('reads a file, and says what keeps it from that', async () => {
  const file = { name: 'a.yaml', size: 3, text: async () => 'abc' };
  expect(await readDescription(file)).toEqual({ text: 'abc' });
  expect(await readDescription({ ...file, size: DESCRIPTION_BYTES_MAX + 1 })).toEqual({
    problem: expect.stringContaining('headgate import openapi'),
  });
  const gone = { ...file, text: () => Promise.reject(new Error('gone')) };
  expect(await readDescription(gone)).toEqual({ problem: 'Could not read a.yaml: gone' });
});

it.each([
  ['openapi: 3.1.0\ninfo:\n  title: Pet Shop!\n', 'pet-shop'],
  ['{"openapi":"3.1.0",\n"info":{\n  "title": "Überweisungen (v2)", "version": "1"}}', 'uberweisungen-v2'],
  ['openapi: 3.1.0', ''],
  ['{"openapi":"3.1.0","info":{"title":"Returns","version":"1"},"paths":{}}', 'returns'],
  [
    '{"paths":{"/a":{"get":{"x":{"title":"Not this"}}}},"info":{"title":"It\'s \\"mine\\", all"}}',
    'it-s-mine-all',
  ],
  ['{"openapi":"3.1.0","info":{"title":"Half of it","vers', 'half-of-it'],
  ['{"info":null,"title":"Not of the API"}', ''],
  ['{openapi: 3.1.0, info: {title: Flow, version: 1}}', 'flow'],
  ['openapi: 3.1.0\ninfo: { title: "In a line", version: "1" }\n', 'in-a-line'],
])('suggests a slug for %j', (text, slug) => {
  expect(suggestedSlug(text)).toBe(slug);
});

it('suggests only what an app may be called', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (title) => {
      expect(suggestedSlug(`title: ${title}`)).toMatch(/^$|^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
    }),
  );
});
