/**
 * A part of a policy whose schema marks a secret: what storage and the management API make of it without a line of
 * their own. The registry of this file has the test part in the place of `min_body_bytes_per_sec`.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Type } from 'typebox';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { systemClock } from '../lib/clock.ts';
import { definePart } from '../policy/part.ts';
import { SECRET_PLACES } from '../policy/secret-places.ts';
import { createSecretBox } from '../storage/secrets/secret-box.ts';
import { openAppTree, sealApp } from '../storage/secrets/sealed-config.ts';
import { openSqlite } from '../storage/sqlite/sqlite.ts';
import { startManagement, type Fixture } from './management.fixture.ts';
import { MASK } from './write/policy-secrets-view.ts';

vi.mock('../policy/parts/body-pace/part.ts', () => {
  const login = Type.Object(
    { user: Type.String(), password: Type.String({ minLength: 12, writeOnly: true }) },
    { additionalProperties: false },
  );
  return {
    BODY_PACE: definePart({
      name: 'tested',
      schema: Type.Object({ login }, { additionalProperties: false }),
      docs: { summary: 'a test', example: { login: { user: 'u', password: 'x'.repeat(12) } } },
      mayShadow: false,
      compile: () => undefined,
    }),
  };
});

const PASSWORD = 'a-password-of-the-test-part';
const POLICY = { tested: { login: { user: 'u', password: PASSWORD } } };
const MASKED = { tested: { login: { user: 'u', password: MASK } } };

let folder: string;
let api: Fixture;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-part-'));
  const path = join(folder, 'headgate.db');
  const repository = await openSqlite({
    path,
    secretPlaces: SECRET_PLACES,
    autoMigrate: true,
    clock: systemClock,
  });
  api = await startManagement({ repository });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const stored = async () => (await api.repository.read((reader) => reader.findApp('a')))?.default_policy;

it('is masked in the answer, and sealed in every file of the database', async () => {
  expect(SECRET_PLACES).toContainEqual(['tested', 'login', 'password']);
  const made = await api.post('/apps', { name: 'A', slug: 'a', gateway_path: '/a', default_policy: POLICY });
  expect(made.status).toBe(201);
  expect(made.body.data.default_policy).toEqual(MASKED);
  expect((await api.get('/apps/a')).body.data.default_policy).toEqual(MASKED);
  expect(await stored()).toEqual(POLICY);
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
  expect(files.join('')).toContain('"password":"enc:v');
  expect(files.join('')).not.toContain(PASSWORD);
});

it('is sealed in the snapshot file, and replaced by another one when the key is gone', async () => {
  const app = await api.repository.read((reader) => reader.findApp('a'));
  if (app === undefined) throw new Error('There is no app');
  const sealing = { box: createSecretBox([randomBytes(32)], 'the test'), places: SECRET_PLACES };
  const sealed = { app: sealApp(app, sealing), versions: [] };
  expect(JSON.stringify(sealed)).not.toContain(PASSWORD);
  expect(openAppTree(sealed, sealing, () => undefined).app).toEqual(app);
  const closed: string[] = [];
  const opened = openAppTree(sealed, { ...sealing, box: undefined }, (id) => closed.push(id));
  expect(closed).toEqual([app.id]);
  expect(JSON.stringify(opened)).not.toMatch(new RegExp(`${PASSWORD}|enc:v`));
});

it('stays as it is stored when the mask comes back, and is refused as a mask without one', async () => {
  const other = { tested: { login: { user: 'v', password: MASK } } };
  expect((await api.patch('/apps/a', { default_policy: other })).body.data.default_policy).toEqual(other);
  expect(await stored()).toEqual({ tested: { login: { user: 'v', password: PASSWORD } } });
  await api.patch('/apps/a', { default_policy: POLICY });
  const refused = await api.post('/apps', {
    name: 'B',
    slug: 'b',
    gateway_path: '/b',
    default_policy: MASKED,
  });
  expect([refused.status, refused.body.errors[0].pointer]).toEqual([
    422,
    '/default_policy/tested/login/password',
  ]);
});

it('is masked in a dry run, in the effective policy, and in the audit log', async () => {
  await api.post('/apps/a/versions', { version: 'v1' });
  const revisions = '/apps/a/versions/v1/revisions';
  await api.post(revisions, { revision: 'r1', backend_host: '127.0.0.1' });
  await api.post(`${revisions}/r1/endpoints`, { method: 'GET', path: '/x' });
  const changed = { tested: { login: { user: 'u', password: 'another-password-of-it' } } };
  const { data } = (await api.patch('/apps/a?dry_run=true', { default_policy: changed })).body;
  expect(data.would_answer.data.default_policy).toEqual(MASKED);
  expect(data.endpoints[0].parts).toMatchObject([
    { part: 'tested', before: { value: MASKED.tested }, after: { value: MASKED.tested } },
  ]);
  const effective = await api.get(`${revisions}/r1/effective-policy`);
  expect(effective.body.data.policy).toEqual(MASKED);
  const audit = await api.get('/audit?limit=50');
  expect(audit.text).toContain(`"password":"${MASK}"`);
  for (const text of [JSON.stringify(data), effective.text, audit.text]) {
    expect(text).not.toMatch(/a-password-of-the-test-part|another-password-of-it/);
  }
});

it('is a handle in a dump, which keeps it when it is applied', async () => {
  const { text, body } = await api.get('/config');
  const { config } = body.data;
  expect(text).not.toContain(PASSWORD);
  expect(config.apps.a.default_policy).toEqual({
    tested: { login: { user: 'u', password: '${sealed:/apps/a/default_policy/tested/login/password}' } },
  });
  expect((await api.post('/config/apply', { config })).body.message).toBe('Nothing to change');
  config.apps.a.description = 'changed';
  expect((await api.post('/config/apply', { config })).status).toBe(200);
  expect(await stored()).toEqual(POLICY);
});
