import { describe, expect, it } from 'vitest';
import { checkMentions, type Project } from './mentions.ts';

const FILES: Readonly<Record<string, string>> = {
  'README.md': '# Headgate\n',
  'docs/a.md': '# A page\n\n## Some `code`, here\n',
  'docs/deep/b.md': '# B\n',
  'src/proxy/handle.ts': '',
};

const project: Project = {
  exists: (path) =>
    Object.keys(FILES).some((file) => file === path || file.startsWith(path.replace(/\/?$/, '/'))),
  read: (path) => FILES[path] ?? '',
  settings: new Set(['GATEWAY_PROXY__PORT', 'GATEWAY_PROXY__HOST']),
};

describe('what exists', () => {
  it.each([
    'Set `GATEWAY_PROXY__PORT=0`, or any of GATEWAY_PROXY__* as you like.',
    'See `src/proxy/handle.ts`, src/proxy and src/proxy/.',
    'All of `src/proxy/*.ts` and `src/*/handle.ts`.',
    'See [a](docs/a.md), [b](docs/deep/b.md "title"), [c](#headgate) and [d](docs/a.md#some-code-here).',
    'See [the RFC](https://www.rfc-editor.org/rfc/rfc9110) and [mail](mailto:a@b.example).',
    'Request http://127.0.0.1:8080/src/nothing or /docs/x or my-src/x.',
    'In code, `[x](nowhere.md)` is no link.',
    '```\n[x](nowhere.md)\n```',
  ])('passes: %s', (text) => {
    expect(checkMentions('README.md', text, project)).toEqual([]);
  });

  it('is looked for from the folder of the page', () => {
    expect(checkMentions('docs/deep/b.md', '[a](../a.md) [r](../../README.md#headgate)', project)).toEqual(
      [],
    );
  });
});

describe('what does not exist', () => {
  it.each([
    ['a\nset `GATEWAY_PROXY__PROT`', 'README.md:2 GATEWAY_PROXY__PROT is not a setting'],
    ['GATEWAY_NOTHING_*', 'README.md:1 GATEWAY_NOTHING_* is not a setting'],
    ['```sh\nGATEWAY_X=1 npm start\n```', 'README.md:2 GATEWAY_X is not a setting'],
    ['see `src/proxy/gone.ts`.', 'README.md:1 src/proxy/gone.ts does not exist'],
    ['see src/gone/*.ts', 'README.md:1 src/gone/*.ts does not exist'],
    ['[x](docs/gone.md)', 'README.md:1 the link to docs/gone.md leads nowhere'],
    ['[x](../README.md)', 'README.md:1 the link to ../README.md leads nowhere'],
    ['[x](docs/a.md#gone)', 'README.md:1 the link to docs/a.md#gone leads nowhere'],
    ['[x](#gone)', 'README.md:1 the link to #gone leads nowhere'],
  ])('is reported: %s', (text, problem) => {
    expect(checkMentions('README.md', text, project)).toContain(problem);
  });
});
