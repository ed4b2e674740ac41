/**
 * Every name that a reader may look up occurs in docs/reference, in a table or heading of the page for it. All pages
 * are linked from docs/README.md.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ACCESS_FIELDS } from '../../src/model/access-fields.ts';
import { ERRORS } from '../../src/policy/error-table.ts';
import { PART_NAMES, PolicySchema } from '../../src/policy/registry.ts';
import { jsonSchema } from '../../src/model/json-schema.ts';
import { WARNINGS } from '../../src/policy/policy-warnings.ts';
import { SETTINGS } from '../../src/settings/settings-table.ts';
import { describedOperations } from './api-operations.ts';
import { metricFamilies } from './metrics-page.ts';
import { describedObjects } from './objects-page.ts';
import { generatedPages } from './pages.ts';
import { RESOURCE_NAMES, resourceFields } from './resources-page.ts';
import { fieldsOf } from './schema-fields.ts';

const read = (path: string): string =>
  readFileSync(new URL(`../../docs/reference/${path}`, import.meta.url), 'utf8');
const missing = (page: string, names: readonly string[]): string[] => {
  const text = read(page);
  return names.filter((name) => !text.includes(`\`${name}\``) && !text.includes(`\n## ${name}\n`));
};
const operations = describedOperations();

describe('docs/reference', () => {
  it.each<[string, string, readonly string[]]>([
    ['setting', 'settings.md', Object.keys(SETTINGS)],
    ['error code', 'errors.md', Object.keys(ERRORS)],
    ['warning code', 'warnings.md', Object.keys(WARNINGS)],
    ['field of the access log', 'access-log.md', ACCESS_FIELDS],
    ['policy field', 'policy-fields.md', fieldsOf(jsonSchema(PolicySchema)).map(({ path }) => path)],
    ['part of a policy', 'policy-fields.md', PART_NAMES],
    ['call', 'management-api.md', operations.map(({ method, path }) => `${method} ${path}`)],
    ['object', 'objects.md', [...describedObjects(operations).keys()]],
    [
      'field of a resource',
      'resources.md',
      RESOURCE_NAMES.flatMap((name) => resourceFields(name, operations)).map(({ path }) => path),
    ],
  ])('names every %s in %s', (_what, page, names) => {
    expect(names.length).toBeGreaterThan(10);
    expect(missing(page, names)).toEqual([]);
  });

  it('names every metric that GET /metrics answers', async () => {
    const families = await metricFamilies();
    expect(families.length).toBeGreaterThan(40);
    expect(
      missing(
        'metrics.md',
        families.map(({ name }) => name),
      ),
    ).toEqual([]);
  });

  it('lists every generated page on its first page', async () => {
    const pages = await generatedPages((path) => read(path.replace('docs/reference/', '')));
    const index = read('../README.md');
    const links = [...pages.keys()]
      .filter((path) => path.startsWith('docs/'))
      .map((path) => `(${path.replace('docs/', '')})`);
    expect(links.filter((link) => !index.includes(link))).toEqual([]);
  });
});

describe('docs/README.md', () => {
  const index = read('../README.md');
  const pagesOf = (part: string): string[] =>
    readdirSync(new URL(`../../docs/${part}/`, import.meta.url))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${part}/${name}`);

  it.each(['tutorial', 'how-to', 'reference', 'explanation'])('leads to every page of docs/%s', (part) => {
    expect(pagesOf(part).length).toBeGreaterThan(0);
    expect(pagesOf(part).filter((path) => !index.includes(`](${path})`))).toEqual([]);
  });

  it('names each task as its how-to page does', () => {
    const titled = pagesOf('how-to').map((path) => {
      const title = /^# (.+)$/m.exec(read(`../${path}`))?.[1] ?? '';
      return `[${title}](${path})`;
    });
    expect(titled.filter((link) => !index.includes(link))).toEqual([]);
  });
});

describe('the resources', () => {
  it('have a meaning for every field', () => {
    const fields = RESOURCE_NAMES.flatMap((name) => resourceFields(name, operations));
    expect(fields.filter(({ description }) => description === '')).toEqual([]);
  });
});
