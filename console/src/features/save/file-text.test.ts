import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { escapeReferences } from '../../../../src/declaration/references.ts';
import { fileText } from './file-text.ts';

it('escapes what a file would resolve, as a dump does', () => {
  const value = {
    description: 'see ${env:PORT}, $${env:PORT} and ${file:/etc/hostname}',
    headers: { set: { 'X-A': '${client.ip} ${env:A}', 'X-B': '${sealed:/a}' } },
    labels: ['${env:A}${env:B}', 1, null],
  };
  expect(fileText(value)).toContain('see $${env:PORT}, $$${env:PORT} and $${file:/etc/hostname}');
  expect(parse(fileText(value))).toEqual(escapeReferences(value));
});
