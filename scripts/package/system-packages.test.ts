import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findProgram } from '../../test/support/programs/programs.ts';
import { SYSTEM_LIBRARIES } from './licence-rules.ts';
import { librariesOf, licencesNamedIn, systemPackagesOf } from './system-packages.ts';

let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'headgate-libraries-'))));
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const libraries = (): string[] => librariesOf(process.execPath);

describe.skipIf(findProgram('dpkg-query') === undefined)('the libraries of Node.js', () => {
  it('come from packages of this machine, with version, licence and the texts of it', () => {
    const packages = systemPackagesOf(libraries());
    expect(packages.map(({ name, licence }) => [name, licence])).toEqual([
      ['libc6', 'LGPL-2.1-or-later'],
      ['libgcc-s1', 'GPL-3.0-or-later WITH GCC-exception-3.1'],
      ['libstdc++6', 'GPL-3.0-or-later WITH GCC-exception-3.1'],
    ]);
    for (const { name, version, source, vendor, release, texts } of packages) {
      expect([version, source, vendor, release].join(' ')).toMatch(/^\S*\d\S* \S+ \S*\d\S* [a-z]+ [\d.]+$/);
      expect(texts).toContain(`/usr/share/doc/${name}/copyright`);
      expect(texts.length).toBeGreaterThan(1);
      for (const text of texts) expect(readFileSync(text, 'utf8')).toMatch(/licen[cs]e/i);
    }
    expect(packages[0]?.texts).toContain('/usr/share/common-licenses/LGPL-2.1');
    expect(packages[1]?.texts).toContain('/usr/share/common-licenses/GPL-3');
  });

  it('are refused where one belongs to no package', () => {
    const [library = ''] = libraries().filter((path) => path.includes('libstdc++'));
    const own = join(folder, 'libstdc++.so.6');
    copyFileSync(library, own);
    expect(() => systemPackagesOf([...libraries(), own])).toThrow(
      `Cannot ship these libraries of this machine:\n${own}: it belongs to no Debian package (dpkg --search)`,
    );
  });

  it('are refused where the licence of one is not known', () => {
    expect(() => systemPackagesOf(['/bin/cp'])).toThrow(
      /^Cannot ship these libraries of this machine:\ncoreutils \S+: its licence is not known; SYSTEM_LIBRARIES/,
    );
  });
});

it('without dpkg, the libraries are refused with the system that has it', () => {
  const found = libraries();
  vi.stubEnv('PATH', folder);
  expect(() => systemPackagesOf(found)).toThrow(
    /dpkg-query is not on PATH\. Make the image on Debian or Ubuntu\./,
  );
});

it('finds the licences that a copyright file refers to, at the end of a sentence too', () => {
  expect(
    licencesNamedIn(`in \`/usr/share/common-licenses/LGPL-2.1'. See
/usr/share/common-licenses/GPL. And "/usr/share/common-licenses/GPL-2", /usr/share/common-licenses/GPL-2.`),
  ).toEqual(['GPL', 'GPL-2', 'LGPL-2.1'].map((name) => `/usr/share/common-licenses/${name}`));
  expect(licencesNamedIn('MIT')).toEqual([]);
});

it('takes only a copyright file that has the licence of the table', () => {
  const says = (name: string, text: string): boolean | undefined => SYSTEM_LIBRARIES[name]?.says.test(text);
  const lesser = (version: string): string =>
    `under the GNU Lesser General Public License, either version ${version} of the License, or any later version`;
  expect(says('libc6', lesser('2.1'))).toBe(true);
  expect(says('libc6', lesser('3'))).toBe(false);
  expect(says('libgcc-s1', 'with the GCC Runtime Library Exception, version 3.1')).toBe(true);
  expect(says('libgcc-s1', 'under the GNU General Public License, version 3')).toBe(false);
});
