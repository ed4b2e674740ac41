import { describe, expect, it } from 'vitest';
import { siteAddress, sitePages, siteSidebar } from './content.ts';

const PAGES = new Map([
  [
    'docs/README.md',
    '# Headgate\n\n[Settings](reference/settings.md#proxy), [source](../src/main.ts), [web](https://example.com)\n',
  ],
  [
    'README.md',
    '# Headgate\n\n[All](docs/README.md#how-to), [s](docs/reference/settings.md), [free](LICENSE)\n',
  ],
  ['CONTRIBUTING.md', '# Contributing\n'],
  ['docs/reference/README.md', '# Reference\n\n[s](settings.md)\n'],
  [
    'docs/reference/settings.md',
    '<!-- Generated. -->\n# Settings of `headgate`\n\n[up](README.md) [all](./)\n\n```sh\n# [a](b.md)\n```\n\n| Name | Type | Default | Meaning |\n| --- | --- | --- | --- |\n| `A` | integer | `4` | It \\| counts |\n| `B` | text |  | Else |\n\nEnd\n',
  ],
  ['docs/explanation/decisions/egress.md', '# Egress\n'],
  ['docs/explanation/architecture.md', '# Architecture\n\n[start](../../README.md#start)\n'],
]);

const textOf = (path: string): string => sitePages(PAGES).find((page) => page.path === path)?.text ?? '';

describe('a page of the site', () => {
  it('has the first heading as its title', () => {
    const text = textOf('reference/settings.md');
    expect(text).toMatch(/^---\ntitle: "Settings of headgate"\n---\n/);
    expect(text).not.toContain('# Settings');
  });

  it('links to pages of the site, names files that are none, and leaves code and other hosts alone', () => {
    expect(textOf('index.md')).toContain(
      '[Settings](/reference/settings/#proxy), source (`src/main.ts`), [web](https://example.com)',
    );
    expect(textOf('reference/settings.md')).toContain('[up](/reference/) [all](/reference/)');
    expect(textOf('reference/settings.md')).toContain('# [a](b.md)');
  });

  it('shows a table of fields as a list whose values say what they are', () => {
    expect(textOf('reference/settings.md')).toContain(
      '<div class="fields">\n\n| Name | Type | Default | Meaning |\n| --- | --- | --- | --- |\n' +
        '| `A` | integer | default: `4` | It \\| counts |\n| `B` | text |  | Else |\n\n</div>\n\nEnd',
    );
  });

  it('may lie outside of docs/', () => {
    expect(textOf('start.md')).toContain('[All](/#how-to), [s](/reference/settings/), free (`LICENSE`)');
    expect(textOf('explanation/architecture.md')).toContain('[start](/start/#start)');
  });

  it('must have a heading', () => {
    expect(() => sitePages(new Map([['docs/x.md', 'text\n']]))).toThrow(/docs\/x\.md .* no heading/);
  });
});

describe('the sidebar', () => {
  it('has the folders of docs/ as groups, the page of a folder first, then pages by title, then folders', () => {
    expect(siteSidebar(PAGES)).toEqual([
      { label: 'Start', link: '/start/' },
      {
        label: 'Reference',
        items: [
          { label: 'Overview', link: '/reference/' },
          { label: 'Settings of headgate', link: '/reference/settings/' },
        ],
      },
      {
        label: 'Explanation',
        items: [
          { label: 'Architecture', link: '/explanation/architecture/' },
          {
            label: 'Decisions',
            collapsed: true,
            items: [{ label: 'Egress', link: '/explanation/decisions/egress/' }],
          },
        ],
      },
    ]);
  });
});

describe('pages that the table of contents lists', () => {
  it('have its order and its groups in the sidebar; the others follow', () => {
    const contents =
      '# D\n\n## How to\n\n**Run**\n\n- [Z](how-to/z.md#x): as [A](how-to/a.md)\n\n**Watch**\n\n- [B](how-to/b.md)\n\n## More\n\n- [C](how-to/c.md)\n';
    const names = ['a', 'b', 'c', 'd', 'z'];
    const pages = new Map([
      ['docs/README.md', contents],
      ...names.map((name): [string, string] => [`docs/how-to/${name}.md`, `# ${name.toUpperCase()}\n`]),
    ]);
    const entry = (name: string): object => ({ label: name.toUpperCase(), link: `/how-to/${name}/` });
    expect(siteSidebar(pages)).toEqual([
      {
        label: 'How-to',
        items: [
          { label: 'Run', collapsed: true, items: [entry('z'), entry('a')] },
          { label: 'Watch', collapsed: true, items: [entry('b')] },
          entry('c'),
          entry('d'),
        ],
      },
    ]);
  });
});

it('a page has the address of its path', () => {
  expect(['docs/README.md', 'docs/reference/README.md', 'docs/how-to/a.md'].map(siteAddress)).toEqual([
    '/',
    '/reference/',
    '/how-to/a/',
  ]);
});
