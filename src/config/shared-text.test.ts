import { expect, it } from 'vitest';
import { sharedText } from './shared-text.ts';

it('returns an equal text, whatever texts it was given before', () => {
  const texts = ['', '*', 'GET', 'get', 'ü☃', 'x'.repeat(256), 'x'.repeat(257), '__proto__', 'constructor'];
  for (let index = 0; index < 5_000; index++) texts.push(`https://backend-${index}.test:8443`);
  for (let round = 0; round < 2; round++) expect(texts.map((text) => sharedText(text))).toEqual(texts);
});
