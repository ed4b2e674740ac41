import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { shippedPage } from './shipped-pages.ts';

const PLACES = new Map([
  ['README.md', 'usr/share/doc/headgate/README.md'],
  ['docs/how-to/a.md', 'usr/share/doc/headgate/how-to/a.md'],
  ['docs/decisions/README.md', 'usr/share/doc/headgate/decisions/README.md'],
  ['deploy/rules/README.md', 'usr/share/headgate/rules/README.md'],
]);

it.each([
  ['docs/how-to/a.md', '[start](../../README.md#start)', '[start](../README.md#start)'],
  ['docs/how-to/a.md', '[decisions](../decisions)', '[decisions](../decisions/README.md)'],
  ['deploy/rules/README.md', '[a](../../docs/how-to/a.md)', '[a](../../doc/headgate/how-to/a.md)'],
  ['docs/how-to/a.md', '[the `source`](../../src/a.ts) of [it](#it)', 'the `source` of [it](#it)'],
  [
    'docs/how-to/a.md',
    '[RFC](https://www.rfc-editor.org/rfc/rfc9110)',
    '[RFC](https://www.rfc-editor.org/rfc/rfc9110)',
  ],
  ['docs/how-to/a.md', '```sh\n[x](../../src/a.ts)\n```', '```sh\n[x](../../src/a.ts)\n```'],
])('in %s, %s becomes %s', (page, text, shipped) => {
  expect(shippedPage(page, text, PLACES)).toBe(shipped);
});

it('no block of a how-to page starts the gateway with npm, which a package does not have', () => {
  const folder = join(import.meta.dirname, '../../docs/how-to');
  const blocks = (text: string): string => [...text.matchAll(/^```\w+\n[^]*?^```/gm)].join('\n');
  const pages = globSync('*.md', { cwd: folder });
  expect(pages.length).toBeGreaterThan(40);
  expect(
    pages.filter((page) => /\bnpm start\b/.test(blocks(readFileSync(join(folder, page), 'utf8')))),
  ).toEqual([]);
});
