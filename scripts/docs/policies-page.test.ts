import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { definePart } from '../../src/policy/part.ts';
import { PARTS } from '../../src/policy/registry.ts';
import { policiesPage } from './policies-page.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/reference/policies.md'), 'utf8');

const TESTED = definePart({
  name: 'tested',
  schema: Type.Object({ address: Type.String() }, { description: 'Refuses one address.' }),
  docs: { summary: 'a test', example: { address: '192.0.2.1' }, text: 'It refuses *one* address.' },
  off: { example: { address: '' }, note: 'all pass', is: ({ address }) => address === '' },
  mayShadow: false,
  compile: () => undefined,
});

describe('the page of policies', () => {
  it('has a row and a section for each part', () => {
    for (const { name, docs } of PARTS) {
      expect(PAGE).toContain(`| \`${name}\` | ${docs.summary} |`);
      expect(PAGE).toContain(`\n## ${name}\n\n\`\`\`json\n{`);
    }
  });

  it('gets the rows and the section of a new part from the part', () => {
    const page = policiesPage(PAGE, [...PARTS, TESTED]);
    expect(page).toContain('| `tested` | a test |');
    expect(page).toContain('| `tested` | `{"address": ""}`: all pass |');
    expect(page).toContain(
      '## tested\n\n```json\n{"tested": {"address": "192.0.2.1"}}\n```\n\nIt refuses *one* address.',
    );
    expect(policiesPage(page)).toBe(PAGE);
  });

  it('describes a part without a text by its schema', () => {
    const { text: _text, ...docs } = TESTED.docs;
    expect(policiesPage(PAGE, [{ ...TESTED, docs }])).toContain('```\n\nRefuses one address.\n');
  });

  it('is not made without its marked places', () => {
    expect(() => policiesPage('# Policies')).toThrow(/has lost the place of "Table of parts"/);
  });
});
