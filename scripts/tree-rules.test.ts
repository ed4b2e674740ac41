import { describe, expect, it } from 'vitest';
import { checkCycles, checkTree, FOLDER_FILES_MAX } from './tree-rules.ts';

const messagesOf = (sources: Readonly<Record<string, string>>): string[] =>
  checkTree(new Map(Object.entries(sources))).map(({ path, message }) => `${path}: ${message}`);

describe('import cycles', () => {
  it('are refused, with the way around', () => {
    const sources = {
      'src/a.ts': "import { b } from './x/b.ts';",
      'src/x/b.ts': "export { c } from './c.ts';",
      'src/x/c.ts': "const { a } = await import('../a.ts');",
    };
    expect(messagesOf(sources)).toEqual([
      'src/a.ts: import cycle: src/a.ts → src/x/b.ts → src/x/c.ts → src/a.ts',
    ]);
  });

  it.each([
    ["import type { B } from './b.ts';", "import type { A } from './a.ts';"],
    ["import { type B } from './b.ts';", "let a: import('./a.ts').A;"],
  ])('of types are refused too: %s %s', (one, other) => {
    expect(messagesOf({ 'src/a.ts': one, 'src/b.ts': other })).toHaveLength(1);
  });

  it('are found in files with elements', () => {
    const sources = {
      'console/src/ui/a.tsx': "import B from './b.tsx';\nexport const a = <B<string> />;",
      'console/src/ui/b.tsx': "import type { A } from './a.tsx';\nimport styles from './b.module.css';",
    };
    expect(checkCycles(new Map(Object.entries(sources)))).toHaveLength(1);
  });

  it('are told once for each group of files', () => {
    const cycle = (one: string, other: string) => ({
      [`src/${one}.ts`]: `import './${other}.ts';`,
      [`src/${other}.ts`]: `import './${one}.ts';`,
    });
    expect(messagesOf({ ...cycle('a', 'b'), ...cycle('c', 'd') })).toHaveLength(2);
  });

  it('are not what two ways to one file are', () => {
    const sources = {
      'src/a.ts': "import './b.ts';\nimport './c.ts';",
      'src/b.ts': "import './c.ts';",
      'src/c.ts': "import 'node:fs';",
    };
    expect(messagesOf(sources)).toEqual([]);
  });
});

describe('names of files', () => {
  it('are given once', () => {
    expect(messagesOf({ 'src/proxy/context.ts': '', 'src/management/context.ts': '' })).toEqual([
      'src/management/context.ts: the file has the name of src/proxy/context.ts',
    ]);
  });

  it('are shared by files that do the same for several things', () => {
    const sources = {
      'src/policy/parts/cors/schema.ts': '',
      'src/policy/parts/auth/schema.ts': '',
      'src/model/schemas/app.ts': '',
      'src/management/routes/app.ts': '',
      'src/storage/repository.ts': '',
      'src/storage/sql/sql-repository.ts': '',
    };
    expect(messagesOf(sources)).toEqual([]);
  });
});

describe('folders', () => {
  const folder = (files: number) =>
    Object.fromEntries(Array.from({ length: files }, (_, index) => [`src/http/a${index}.ts`, '']));

  it('hold a bounded number of source files on one level', () => {
    expect(messagesOf(folder(FOLDER_FILES_MAX))).toEqual([]);
    expect(messagesOf({ ...folder(FOLDER_FILES_MAX), 'src/http/deep/b.ts': '' })).toEqual([]);
    expect(messagesOf(folder(FOLDER_FILES_MAX + 1))).toEqual([
      'src/http: the folder has 17 source files, at most 16 are allowed',
    ]);
  });
});
