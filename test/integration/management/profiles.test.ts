/**
 * `POST /profiles` and `headgate profile` on a gateway that runs: profiles that the tools of Chrome read, and what ends
 * one early: its client, its worker, the stop of the gateway. After each of them the next profile works.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ADMIN_TOKEN, runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-profile-'));
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_WORKER_STALL_TIMEOUT_MS: '1000' } });
});
afterAll(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

function ask(body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${gateway.base}/api/v1/profiles`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'cpu', ...body }),
    ...(signal !== undefined && { signal }),
  });
}

test('a CPU profile of a worker and of the main thread, with entries in the audit log', async () => {
  for (const thread of ['worker', 'main']) {
    const response = await ask({ thread, seconds: 1 });
    expect(response.status).toBe(200);
    const profile: any = await response.json(); // oxlint-disable-line typescript/no-explicit-any
    expect(profile.endTime - profile.startTime).toBeGreaterThan(900_000);
    expect(profile.nodes.length).toBeGreaterThan(1);
  }
  const { body } = await gateway.api('GET', '/audit?order=newest_first&limit=1');
  expect(body.data[0]).toMatchObject({ action: 'profile.create', resource_name: 'the main thread' });
});

test('a heap snapshot is taken only by a caller that knows that it holds secrets', async () => {
  const refused = await ask({ kind: 'heap' });
  expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining('contains_secrets')]);
  const path = join(folder, 'one.heapsnapshot');
  const command = ['profile', '--heap', '--file', path, '--server', gateway.base];
  const env = { HEADGATE_TOKEN: ADMIN_TOKEN };
  const unsaid = await runToEnd(env, command);
  expect([unsaid.code, unsaid.output, existsSync(path)]).toEqual([
    1,
    expect.stringContaining('--yes'),
    false,
  ]);
  const taken = await runToEnd(env, [...command, '--yes']);
  expect(taken).toMatchObject({ code: 0, output: expect.stringContaining('It holds secrets') });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(path, 'utf8')).snapshot.node_count).toBeGreaterThan(1_000);
});

test('a file in a folder that does not exist is refused before a thread is stopped for it', async () => {
  const path = join(folder, 'nowhere', 'three.heapsnapshot');
  const taken = async (): Promise<number> =>
    (await gateway.must('GET', '/audit?action=profile.create&limit=200')).length;
  const before = await taken();
  const command = ['profile', '--heap', '--yes', '--file', path, '--server', gateway.base];
  const { code, output } = await runToEnd({ HEADGATE_TOKEN: ADMIN_TOKEN }, command);
  expect([code, output]).toEqual([
    1,
    `headgate: Cannot write ${path}: there is no folder "${join(folder, 'nowhere')}"\n`,
  ]);
  expect(await taken()).toBe(before);
});

test('a file that an interrupted command has left does not keep the next one from its profile', async () => {
  const path = join(folder, 'two.cpuprofile');
  writeFileSync(`${path}.part`, 'half');
  const command = ['profile', '--seconds', '1', '--file', path, '--server', gateway.base];
  expect(await runToEnd({ HEADGATE_TOKEN: ADMIN_TOKEN }, command)).toMatchObject({ code: 0 });
  expect(JSON.parse(readFileSync(path, 'utf8')).nodes.length).toBeGreaterThan(1);
  expect(existsSync(`${path}.part`)).toBe(false);
});

test('one at a time; it ends with its client, and the next one works', async () => {
  const leaving = new AbortController();
  const first = ask({ seconds: 60 }, leaving.signal).catch(() => 'left');
  let second: Response;
  do {
    second = await ask({ worker: 99, seconds: 1 });
    if (second.status !== 409) await delay(20);
  } while (second.status !== 409);
  expect(await second.text()).toContain('Another profile is being made');
  leaving.abort();
  expect(await first).toBe('left');
  let third = await ask({ seconds: 1 });
  for (let tries = 0; tries < 50 && third.status === 409; tries++) {
    await delay(50);
    third = await ask({ seconds: 1 });
  }
  expect(third.status).toBe(200);
  await third.text();
  const refused = await ask({ worker: 99 });
  expect(refused.status).toBe(404);
  expect(await refused.text()).toContain('no such worker at the moment; those that serve are ');
});

test('a gateway that stops ends it with an error', async () => {
  const running = ask({ thread: 'main', seconds: 60 });
  while ((await ask({ worker: 99 })).status !== 409) await delay(20);
  const stopped = gateway.stop();
  const response = await running;
  expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('profile_failed')]);
  await stopped;
});
