import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { stageNames } from './pipeline.ts';
import { PARTS } from './registry.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/explanation/request-path.md'), 'utf8');

/** The stages that the parts in a folder declare, without those that never answer a request. */
async function stagesIn(folder: string): Promise<readonly string[]> {
  const exported = (await import(join(ROOT, folder, 'part.ts'))) as Readonly<Record<string, unknown>>;
  const values = Object.values(exported);
  const stages = PARTS.filter((part) => values.includes(part)).flatMap(({ stages: own = [] }) => own);
  return stages.filter(({ phase }) => phase !== 'browser').map(({ name }) => name);
}

it('the page on the path of a request has the folders of the parts in the order in which their stages run', async () => {
  const order = stageNames(PARTS);
  const folders = globSync('src/policy/parts/*', { cwd: ROOT });
  const firstStage = new Map<string, number>();
  for (const folder of folders) {
    const places = (await stagesIn(folder)).map((name) => order.indexOf(name));
    if (places.length > 0) firstStage.set(folder, Math.min(...places));
  }
  const listed = [...PAGE.matchAll(/src\/policy\/parts\/[a-z-]+/g)].map(([folder]) => folder);
  const inPage = [...new Set(listed)].filter((folder) => firstStage.has(folder));
  const inOrder = [...firstStage].toSorted(([, a], [, b]) => a - b).map(([folder]) => folder);
  const what =
    'docs/explanation/request-path.md needs a row for each stage, at the place where the stage runs';
  expect(inPage, what).toEqual(inOrder);
});
