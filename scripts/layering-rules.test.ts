import { describe, expect, it } from 'vitest';
import { checkSource, FILE_LINES_MAX, FUNCTION_LINES_MAX, TEST_FILE_LINES_MAX } from './layering-rules.ts';

const HEAD = '/** What it is for. */\n';
const messagesOf = (path: string, body: string): string[] =>
  checkSource(path, HEAD + body).map(({ line, message }) => `${line}: ${message}`);

describe('imports', () => {
  it.each([
    ['src/http/a.ts', "import { a } from '../lib/clock.ts';"],
    ['src/http/a.ts', "import { a } from './b.ts';"],
    ['src/policy/a.ts', "import { a } from '../limits/store.ts';"],
    ['src/proxy/deep/a.ts', "import { a } from '../../policy/stage.ts';"],
    ['src/control/a.ts', "import type { A } from '../proxy/b.ts';"],
    ['src/control/a.ts', "import type { Settings } from '../settings/settings.ts';"],
    ['src/compose/gateway.ts', "import { a } from '../storage/sqlite.ts';"],
    ['src/main.ts', "const { a } = await import('./compose/gateway.ts');"],
    ['src/settings/settings.ts', "import { a } from './settings-table.ts';"],
    ['src/settings/settings.ts', "import { a } from '../model/errors.ts';"],
    ['src/observe/log.ts', "import { pino } from 'pino';"],
    [
      'src/storage/sqlite/sqlite.ts',
      "import { DatabaseSync } from 'node:sqlite';\nimport { Kysely } from 'kysely';",
    ],
    ['src/management/a.ts', "import swagger from '@fastify/swagger';\nimport x from 'typebox/format';"],
    ['src/proxy/a.ts', "import { connect } from 'node:net';"],
  ])('are allowed: %s %s', (path, body) => {
    expect(messagesOf(path, body)).toEqual([]);
  });

  it.each([
    ['src/http/a.ts', "import { a } from '../model/errors.ts';", 'http may not import model'],
    ['src/model/a.ts', "import type { A } from '../http/b.ts';", 'model may not import http'],
    ['src/lib/a.ts', "export { a } from '../model/b.ts';", 'lib may not import model'],
    ['src/lib/a.ts', "export * from '../model/b.ts';", 'lib may not import model'],
    ['src/limits/a.ts', "import { a } from '../storage/b.ts';", 'limits may not import storage'],
    ['src/proxy/a.ts', "import { a } from '../management/b.ts';", 'proxy may not import management'],
    [
      'src/proxy/a.ts',
      "const a = await import('../storage/../control/b.ts');",
      'proxy may not import control',
    ],
    ['src/proxy/a.ts', "let a: import('../cli/b.ts').A;", 'proxy may not import cli'],
    ['src/proxy/a.ts', "import { a } from '../settings/settings.ts';", 'proxy may not import the settings'],
    ['src/settings/settings.ts', "import { a } from '../http/b.ts';", 'the settings may not import http'],
    ['src/cli/a.ts', "import { a } from '../compose.ts';", 'cli may not import compose'],
    ['src/compose/gateway.ts', "import { a } from '../main.ts';", 'compose may not import main'],
    ['src/proxy/a.ts', "import { a } from '../../test/support/b.ts';", 'nothing from outside of src/'],
    ['src/proxy/a.ts', "import { a } from '../policy/test-fixtures.ts';", 'only tests import'],
    ['src/proxy/a.ts', "import { a } from './b.fixture.ts';", 'only tests import'],
    ['src/extras/a.ts', "import { a } from '../lib/b.ts';", 'extras has no level'],
    ['src/proxy/a.ts', "import { a } from '../extras/b.ts';", 'extras has no level'],
    ['src/proxy/a.ts', "import { pino } from 'pino';", 'pino may be imported in src/observe/log.ts only'],
    ['src/observe/a.ts', "import { pino } from 'pino';", 'pino may be imported in src/observe/log.ts only'],
    ['src/proxy/a.ts', "import { createServer } from 'node:http';", 'node:http may be imported'],
    [
      'src/proxy/a.ts',
      "import { request } from 'node:https';",
      'may be imported in src/cli/connection/, src/telemetry/export/ only',
    ],
    [
      'src/limits/a.ts',
      "import { DatabaseSync } from 'node:sqlite';",
      'node:sqlite may be imported in src/storage/',
    ],
    ['src/proxy/a.ts', "import { request } from 'undici';", 'undici may be imported'],
    ['src/proxy/a.ts', "import x from '@fastify/swagger';", '@fastify/swagger may be imported'],
    ['src/proxy/a.ts', "import leftPad from 'left-pad';", 'left-pad: the package has no row'],
    ['src/proxy/a.ts', "import a from '/etc/passwd';", 'an absolute path'],
  ])('are refused: %s %s', (path, body, message) => {
    expect(messagesOf(path, body)).toEqual([expect.stringContaining(message)]);
  });

  it('are free in tests', () => {
    expect(messagesOf('src/lib/a.test.ts', "import { a } from '../main.ts';")).toEqual([]);
    expect(messagesOf('src/policy/test-fixtures.ts', "import { a } from '../main.ts';")).toEqual([]);
    expect(messagesOf('src/policy/a.fixture.ts', "import { a } from '../main.ts';")).toEqual([]);
    expect(messagesOf('test/support/a.ts', "import { a } from '../../src/main.ts';")).toEqual([]);
  });
});

describe('clocks, randomness and the environment', () => {
  it.each([
    'const a = Date.now();',
    'const a = performance.now();',
    'const a = process.hrtime.bigint();',
    'const a = new Date();',
    'const a = Date();',
    "const a = Date['now']();",
    'const f = Date.now;',
  ])('refuses to read a clock outside of lib: %s', (body) => {
    expect(messagesOf('src/proxy/a.ts', body)).toEqual([expect.stringContaining('take a Clock')]);
    expect(messagesOf('src/lib/a.ts', body)).toEqual([]);
    expect(messagesOf('src/proxy/a.test.ts', body)).toEqual([]);
  });

  it.each([
    'const a = Math.random();',
    "import { randomUUID } from 'node:crypto';",
    "import { randomBytes as bytes } from 'node:crypto';",
    'const a = crypto.randomUUID();',
  ])('refuses to draw randomness outside of lib: %s', (body) => {
    expect(messagesOf('src/proxy/a.ts', body)).toEqual([expect.stringContaining('randomness')]);
    expect(messagesOf('src/lib/a.ts', body)).toEqual([]);
  });

  it('refuses to read the environment anywhere but in main.ts', () => {
    expect(messagesOf('src/cli/a.ts', 'const a = process.env.PATH;')).toEqual([
      expect.stringContaining('2: process.env'),
    ]);
    expect(messagesOf('src/main.ts', 'const a = process.env.PATH;')).toEqual([]);
  });

  it.each([
    'const a = new Date(0);',
    "import { createHash } from 'node:crypto';",
    "const a = 'Date.now()'; // Date.now",
  ])('allows %s', (body) => {
    expect(messagesOf('src/proxy/a.ts', body)).toEqual([]);
  });
});

describe('sizes', () => {
  const functionOf = (lines: number): string => `function f() {\n${'a();\n'.repeat(lines - 2)}}\n`;

  it('bound a function', () => {
    expect(messagesOf('src/proxy/a.ts', functionOf(FUNCTION_LINES_MAX))).toEqual([]);
    const long = functionOf(FUNCTION_LINES_MAX + 1);
    expect(messagesOf('src/proxy/a.ts', long)).toEqual([
      expect.stringContaining('the function has 71 lines'),
    ]);
    expect(messagesOf('scripts/a.ts', long)).toHaveLength(1);
    expect(
      messagesOf('src/proxy/a.ts', `class A { #m() {\n${'a();\n'.repeat(FUNCTION_LINES_MAX)}} }`),
    ).toHaveLength(1);
    expect(
      messagesOf('src/proxy/a.ts', `const f = () => {\n${'a();\n'.repeat(FUNCTION_LINES_MAX)}};`),
    ).toHaveLength(1);
    expect(messagesOf('test/contract/a.ts', long)).toEqual([]);
  });

  it('bound a file', () => {
    expect(messagesOf('src/proxy/a.ts', 'a();\n'.repeat(FILE_LINES_MAX - 1))).toEqual([]);
    expect(messagesOf('src/proxy/a.ts', 'a();\n'.repeat(FILE_LINES_MAX))).toHaveLength(1);
    expect(messagesOf('src/proxy/a.test.ts', 'a();\n'.repeat(FILE_LINES_MAX))).toEqual([]);
    expect(messagesOf('src/proxy/a.test.ts', 'a();\n'.repeat(TEST_FILE_LINES_MAX))).toHaveLength(1);
  });
});

describe('the opening comment', () => {
  it('is wanted of every file that is not a test', () => {
    expect(checkSource('src/proxy/a.ts', 'export const a = 1;\n')).toHaveLength(1);
    expect(checkSource('src/proxy/a.ts', '#!/usr/bin/env node\n// x\nexport const a = 1;\n')).toEqual([]);
    expect(checkSource('src/proxy/a.test.ts', 'export const a = 1;\n')).toEqual([]);
  });
});

describe('unfinished work', () => {
  it('is found', () => {
    const word = ['TO', 'DO'].join('');
    expect(messagesOf('src/proxy/a.ts', `// ${word} later`)).toEqual([expect.stringContaining('finish it')]);
  });
});
