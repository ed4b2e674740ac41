/** What the tests of each package read of its bill of materials, and of the checksums beside it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { run } from './programs.ts';

export interface BillComponent {
  readonly type: string;
  readonly name: string;
  readonly version?: string;
  readonly purl?: string;
  readonly licenses?: readonly unknown[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly components?: readonly BillComponent[];
}

/** Those inside of others included. Each has a licence, but files and images. @param text of a CycloneDX file */
export function componentsOf(text: string): BillComponent[] {
  const { bomFormat, components } = JSON.parse(text) as {
    readonly bomFormat: string;
    readonly components: readonly BillComponent[];
  };
  expect(bomFormat).toBe('CycloneDX');
  const all = components.flatMap((component) => [component, ...(component.components ?? [])]);
  for (const { type, name, licenses } of all)
    if (type !== 'file' && type !== 'container') expect(licenses, name).toHaveLength(1);
  return all;
}

/** Of all packages in the folder, one of them with this name. */
export async function expectChecksums(folder: string, name: RegExp): Promise<void> {
  const named = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').split('\n');
  expect(named.map((line) => line.split('  ')[1] ?? '')).toContainEqual(expect.stringMatching(name));
  expect(await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder })).toMatchObject({
    code: 0,
  });
}
