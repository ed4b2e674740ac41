import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readDocument } from '../../declaration/yaml-reader.ts';
import { validate } from '../api/validate.ts';
import { startManagement, verdict, type Fixture, type Reply } from '../management.fixture.ts';
import { literalKeyValues } from './key-values.ts';

const VALUE = 'hV3xQ9mT2kWz7RbLc5NpYd8F';
const OTHER = 'Tq7Zr1WvB4nXk9LsGd2YcJ6H';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

let api: Fixture;
beforeEach(async () => {
  api = await startManagement();
});
afterEach(() => api[Symbol.asyncDispose]());

const config = (keys: object): object => ({ apps: { a: { gateway_path: '/a', keys } } });
const send = (how: 'apply' | 'plan', keys: object, token?: string): Promise<Reply> =>
  api.post(`/config/${how}`, { config: config(keys) }, token === undefined ? {} : { token });
const nameOf = async (value: string): Promise<unknown> => {
  const { body } = await api.post('/tokens/introspect', { token: value });
  return body.data.active ? (body.data.token?.name ?? body.data.name) : body.data.reason;
};

describe('a declared key with a value', () => {
  it('is made with it, by the value or its hash, and answers and shows neither', async () => {
    const made = await send('apply', { one: { token: VALUE }, two: { token_sha256: sha256(OTHER) } });
    expect(made.status).toBe(200);
    expect(made.body.data.created_keys).toEqual([]);
    expect([await nameOf(VALUE), await nameOf(OTHER)]).toEqual(['one', 'two']);
    const shown = [made, await api.get('/config'), await api.get('/audit'), await api.get('/apps/a/tokens')];
    for (const { text } of shown) {
      expect(text).not.toContain(VALUE);
      expect(text).not.toContain(sha256(VALUE));
      expect(text).not.toContain(sha256(OTHER));
    }
    const again = await send('apply', { one: { token_sha256: sha256(VALUE) }, two: { token: OTHER } });
    expect(again.body.message).toBe('Nothing to change');
  });

  it('keeps its value where a dump, which has none, is applied', async () => {
    await send('apply', { one: { token: VALUE } });
    const dumped = (await api.get('/config')).body.data.config;
    expect(dumped.apps.a.keys).toEqual({ one: {} });
    expect((await api.post('/config/apply', { config: dumped })).body.message).toBe('Nothing to change');
    expect(await nameOf(VALUE)).toBe('one');
  });

  it('gets another value in place, and a plan shows only what a record shows', async () => {
    await send('apply', { one: { token: VALUE } });
    const { id } = (await api.get('/apps/a/tokens')).body.data[0];
    const planned = await send('plan', { one: { token: OTHER } });
    expect(planned.body.data.changes).toMatchObject([
      {
        change: 'update',
        fields: {
          token_prefix: {
            before: `sha256:${sha256(VALUE).slice(0, 8)}`,
            after: `sha256:${sha256(OTHER).slice(0, 8)}`,
          },
        },
      },
    ]);
    await send('apply', { one: { token: OTHER } });
    expect((await api.get('/apps/a/tokens')).body.data[0].id).toBe(id);
    expect([await nameOf(VALUE), await nameOf(OTHER)]).toEqual(['unknown', 'one']);
  });

  it('may swap it with another key', async () => {
    await send('apply', { one: { token: VALUE }, two: { token: OTHER } });
    expect((await send('apply', { one: { token: OTHER }, two: { token: VALUE } })).status).toBe(200);
    expect([await nameOf(VALUE), await nameOf(OTHER)]).toEqual(['two', 'one']);
  });

  it('is refused where the value is weak, given twice or taken', async () => {
    const at = '/config/apps/a/keys';
    expect(verdict(await send('apply', { one: { token: 'a'.repeat(32) } }))).toEqual([
      422,
      'validation_failed',
      [`${at}/one/token`],
    ]);
    expect(verdict(await send('apply', { one: { token: VALUE, token_sha256: sha256(VALUE) } }))[2]).toEqual([
      `${at}/one/token`,
    ]);
    expect(verdict(await send('apply', { one: { token_sha256: 'AB' } }))[2]).toEqual([
      `${at}/one/token_sha256`,
    ]);
    const taken = await send('apply', { one: { token: VALUE }, two: { token_sha256: sha256(VALUE) } });
    expect(verdict(taken)).toEqual([409, 'conflict', [`${at}/two/token_sha256`]]);
    expect((await api.get('/apps')).body.data).toEqual([]);
  });

  it('needs the role admin to be applied', async () => {
    const { token } = (await api.post('/admin/tokens', { name: 'ci', role: 'editor' })).body.data;
    const refused = await send('apply', { one: { token_sha256: sha256(VALUE) } }, token);
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
    expect(refused.body.detail).toContain('/config/apps/a/keys/one');
    expect((await send('plan', { one: { token: VALUE } }, token)).status).toBe(200);
    expect((await send('apply', { one: {} }, token)).status).toBe(200);
  });

  it.each(['viewer', 'editor'])('is not confirmed by the plan of one with the role %s', async (role) => {
    const { token } = (await api.post('/admin/tokens', { name: 'guess', role })).body.data;
    await send('apply', { one: { token: VALUE } });
    const bodies = [VALUE, OTHER].flatMap((value) => [{ token: value }, { token_sha256: sha256(value) }]);
    for (const guess of bodies) {
      const same = await send('plan', { one: guess }, token);
      expect([same.status, same.body.data.totals.update]).toEqual([200, 1]);
      const other = { apps: { b: { gateway_path: '/b', keys: { two: guess } } } };
      const taken = await api.post('/config/plan', { config: other }, { token });
      expect([taken.status, taken.body.data.totals.create]).toEqual([200, 2]);
    }
    const twice = await send('plan', { two: { token: OTHER }, three: { token: OTHER } }, token);
    expect(verdict(twice)).toEqual([409, 'conflict', ['/config/apps/a/keys/three/token']]);
    expect((await send('plan', { one: { token: VALUE } })).body.message).toBe('Nothing to change');
    expect(await nameOf(VALUE)).toBe('one');
  });
});

describe('the published schema', () => {
  it('takes a reference where a value belongs, as editors see it', async () => {
    const { body: schema } = await api.get('/config/schema');
    const reference = { token: '${file:/etc/headgate/keys/mobile}' };
    expect(validate(schema, config({ one: reference }))).toEqual([]);
    expect(validate(schema, config({ one: { token: 1 } }))).not.toEqual([]);
  });
});

describe('a value in a file', () => {
  const problems = (token: string): unknown => {
    const read = readDocument(
      'a.yaml',
      Buffer.from(`apps:\n  a:\n    keys:\n      one: { token: ${token} }\n`),
    );
    if (!('locate' in read)) throw new Error(JSON.stringify(read));
    return literalKeyValues(read).map(({ line, column, pointer }) => [line, column, pointer]);
  };

  it.each(['"${env:KEY}"', '"${file:key.txt}"'])('%s is a reference', (token) => {
    expect(problems(token)).toEqual([]);
  });

  it.each([VALUE, `"prefix-\${env:KEY}"`, '"$${env:KEY}"', '"${other:KEY}"'])('%s is refused', (token) => {
    expect(problems(token)).toEqual([[4, 14, '/apps/a/keys/one/token']]);
  });
});
