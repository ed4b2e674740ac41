/** Changes of configuration files while the gateway runs: every way of writing that operators and tools have. */
import { chmodSync, closeSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  appYaml,
  configYaml,
  startFileRig,
  statusOf,
  untilState,
  untilStatus,
  type FileRig,
} from '../../support/config-file.ts';
import type { TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';

const TIMEOUT = { timeout: 90_000 };

let rig: FileRig;
let port: number;
beforeAll(async () => {
  rig = await startFileRig();
  ({ port } = rig.origin);
});
afterAll(() => rig.end());

const messages = (gateway: TestGateway): string[] => gateway.logs().map(({ msg }) => String(msg));
const countOf = (gateway: TestGateway, message: string): number =>
  messages(gateway).filter((text) => text === message).length;
const REFUSED = 'the configuration files cannot be used; the previous configuration stays in force';

// oxlint-disable-next-line typescript/no-explicit-any -- a declared app
const r1Of = (app: any): object => app.versions.v1.revisions.r1;

describe('a change of a configuration file', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    rig.write('one.yaml', configYaml({ port }));
    gateway = await rig.start('one.yaml', { env: { GATEWAY_WORKERS: '2' } });
  }, 60_000);

  it('is taken when the file is written in place', TIMEOUT, async () => {
    expect(await statusOf(gateway, '/a/v1/x')).toBe(200);
    rig.write('one.yaml', configYaml({ port, endpoints: ['GET /y'] }));
    await untilStatus(gateway, '/a/v1/y', 200);
    expect(await statusOf(gateway, '/a/v1/x')).toBe(404);
  });

  it('is taken when another file is renamed onto it', TIMEOUT, async () => {
    rig.replace('one.yaml', configYaml({ port, endpoints: ['GET /z'] }));
    await untilStatus(gateway, '/a/v1/z', 200);
    expect(await statusOf(gateway, '/a/v1/y')).toBe(404);
  });

  it('is not in a history, as files have their own', TIMEOUT, async () => {
    const { config_version: now } = await gateway.must('GET', '/config');
    expect(now).toBeGreaterThan(1);
    const list = await gateway.api('GET', '/config/versions');
    expect([list.status, list.body.data, list.body.page.total]).toEqual([200, [], 0]);
    const gone = { status: 410, code: 'config_version_gone' };
    for (const path of ['/config/versions/1', '/config/versions/diff?from=1', '/config?version=1'])
      expect([path, (await gateway.api('GET', path)).body]).toMatchObject([path, gone]);
    const last = (await gateway.api('GET', `/config/versions/${now}`)).body;
    expect(last).toMatchObject({ ...gone, detail: expect.stringContaining('the history begins after it') });
    const rollback = await gateway.api('POST', '/config/versions/1/rollback', { dry_run: true });
    expect(rollback.body).toMatchObject({ status: 409, code: 'configuration_from_file' });
  });

  it('is taken as a whole when it is written in pieces', TIMEOUT, async () => {
    // As JSON, of which no part but the whole is a configuration.
    const [app] = Object.values((await gateway.must('GET', '/config')).config.apps) as [{ versions: object }];
    const revision = { ...r1Of(app), endpoints: { 'GET /p1': {}, 'GET /p2': {} } };
    const text = JSON.stringify({
      apps: { a: { ...app, versions: { v1: { revisions: { r1: revision } } } } },
    });
    const { config_version: before } = await gateway.must('GET', '/config');
    const file = openSync(join(rig.folder, 'one.yaml'), 'w');
    for (let at = 0; at < text.length; at += 40) {
      writeSync(file, text.slice(at, at + 40));
      await delay(60);
    }
    closeSync(file);
    await untilStatus(gateway, '/a/v1/p2', 200);
    expect((await gateway.must('GET', '/config')).config_version).toBe(before + 1);
  });

  it(
    'is reported with its place when it is wrong, while the old configuration is served',
    TIMEOUT,
    async () => {
      rig.write('one.yaml', configYaml({ port }).replace('backend_port', 'backend_prt'));
      const { problems, problem_count: count } = await untilState(gateway, 'refused');
      expect(count).toBe(1);
      expect(problems).toEqual([
        {
          file: join(rig.folder, 'one.yaml'),
          line: 11,
          column: 13,
          pointer: '/apps/a/versions/v1/revisions/r1/backend_prt',
          detail: expect.stringContaining('did you mean "backend_port"?'),
        },
      ]);
      expect(await statusOf(gateway, '/a/v1/p2')).toBe(200);
      const ready = await gateway.api('GET', '//readyz');
      expect([ready.status, ready.body.data.ready]).toEqual([200, true]);
      expect(ready.body.data.reason).toMatch(/^The configuration file has been unusable since 20/);
      const health = await gateway.api('GET', '/health');
      expect([health.status, health.body.data.config_file]).toEqual([200, 'refused']);
      const { body: metrics } = await gateway.api('GET', '//metrics');
      expect(metrics).toContain('headgate_config_file_ok 0');
      expect(metrics).toContain('headgate_config_file_loads_total{result="refused"} 1');
      // Two more polls: the same problem is logged once.
      await delay(2_500);
      const reports = gateway.logs().filter(({ msg }) => msg === REFUSED);
      expect(reports).toHaveLength(1);
      expect(reports[0]?.['problems']).toEqual([expect.stringMatching(/one\.yaml:11:13: .*backend_prt/)]);
    },
  );

  it('is reported again at SIGHUP, and taken when it is corrected', TIMEOUT, async () => {
    gateway.process.kill('SIGHUP');
    await until(() => countOf(gateway, REFUSED) === 2);
    rig.write('one.yaml', configYaml({ port }));
    await untilState(gateway, 'current');
    await untilStatus(gateway, '/a/v1/x', 200);
    const { body: metrics } = await gateway.api('GET', '//metrics');
    expect(metrics).toContain('headgate_config_file_ok 1');
    const health = await gateway.api('GET', '/health');
    expect(health.body).toMatchObject({ message: 'ok', data: { db_driver: 'none', config_file: 'ok' } });
  });

  it('is refused when it does not compile', TIMEOUT, async () => {
    rig.write('one.yaml', configYaml({ port }, { slug: 'b', port }).replace('/b', '/a'));
    const { problems } = await untilState(gateway, 'refused');
    expect(problems[0]).toMatchObject({ line: 16, pointer: '/apps/b/gateway_path' });
    expect(await statusOf(gateway, '/a/v1/x')).toBe(200);
  });

  it('of a file that is emptied, gone, or too large leaves what is served', TIMEOUT, async () => {
    const path = rig.write('one.yaml', '');
    const seen: string[] = [];
    const problem = async (part: string): Promise<void> => {
      await until(
        async () => {
          const { problems } = await untilState(gateway, 'refused');
          return String(problems[0].detail).includes(part);
        },
        15_000,
        50,
        part,
      );
      seen.push(part);
      expect(await statusOf(gateway, '/a/v1/x')).toBe(200);
    };
    await problem('declares no "apps"');
    rmSync(path);
    await problem('it does not exist');
    rig.write('one.yaml', `# ${'x'.repeat(11 * 1024 * 1024)}\n${configYaml({ port })}`);
    await problem('10485760 bytes');
    rig.write('one.yaml', configYaml({ port, endpoints: ['GET /again'] }));
    await untilStatus(gateway, '/a/v1/again', 200);
    expect(seen).toHaveLength(3);
  });

  it('that changes nothing makes no new version', TIMEOUT, async () => {
    const { config_version: before } = await gateway.must('GET', '/config');
    const text = configYaml({ port, endpoints: ['GET /again'] });
    rig.write('one.yaml', `# a comment\n${text}`);
    await until(async () => {
      const { body } = await gateway.api('GET', '//metrics');
      return /loads_total\{result="unchanged"\} [1-9]/.test(String(body));
    });
    expect((await gateway.must('GET', '/config')).config_version).toBe(before);
  });

  it('keeps the ids of what did not change', TIMEOUT, async () => {
    const [before] = await gateway.must('GET', '/apps');
    rig.write('one.yaml', configYaml({ port, endpoints: ['GET /again'] }, { slug: 'c', port }));
    await untilStatus(gateway, '/c/v1/x', 200);
    const after = await gateway.must('GET', '/apps');
    expect(after).toContainEqual(before);
    expect(after).toHaveLength(2);
  });

  it('answers no request with an error while it is swapped', TIMEOUT, async () => {
    let isDone = false;
    const answers: number[] = [];
    const ask = async (): Promise<void> => {
      while (!isDone) answers.push(await statusOf(gateway, '/a/v1/again'));
    };
    const asking = [ask(), ask(), ask(), ask()];
    for (let round = 0; round < 8; round++) {
      rig.replace('one.yaml', configYaml({ port, endpoints: ['GET /again', `GET /round-${round}`] }));
      await untilStatus(gateway, `/a/v1/round-${round}`, 200);
    }
    isDone = true;
    await Promise.all(asking);
    expect(answers.length).toBeGreaterThan(100);
    expect(answers.filter((status) => status !== 200)).toEqual([]);
  });
});

describe('a mounted ConfigMap', () => {
  it('is taken when its link leads elsewhere', TIMEOUT, async () => {
    rig.mount('map', { 'headgate.yaml': configYaml({ port }) });
    const gateway = await rig.start('map/headgate.yaml');
    expect(await statusOf(gateway, '/a/v1/x')).toBe(200);
    rig.mount('map', { 'headgate.yaml': configYaml({ port, endpoints: ['GET /new'] }) });
    await untilStatus(gateway, '/a/v1/new', 200);
  });

  it('is taken as a folder, in which only its links count', TIMEOUT, async () => {
    rig.mount('folder-map', { 'a.yaml': configYaml({ port }), 'b.yaml': configYaml({ slug: 'b', port }) });
    const gateway = await rig.start('folder-map');
    expect([await statusOf(gateway, '/a/v1/x'), await statusOf(gateway, '/b/v1/x')]).toEqual([200, 200]);
    rig.mount('folder-map', {
      'a.yaml': configYaml({ port }),
      'b.yaml': configYaml({ slug: 'b', port, endpoints: ['GET /y'] }),
    });
    await untilStatus(gateway, '/b/v1/y', 200);
  });
});

describe('a folder of files', () => {
  it('takes new, changed and removed files, and names the one that is wrong', TIMEOUT, async () => {
    mkdirSync(join(rig.folder, 'folder/below'), { recursive: true });
    rig.write('folder/a.yaml', configYaml({ port }));
    rig.write('folder/below/b.yaml', configYaml({ slug: 'b', port }));
    const gateway = await rig.start('folder');
    expect([await statusOf(gateway, '/a/v1/x'), await statusOf(gateway, '/b/v1/x')]).toEqual([200, 200]);
    rig.write('folder/c.json', JSON.stringify({ apps: { c: { gateway_path: '/c' } } }));
    await until(async () => (await gateway.must('GET', '/apps')).length === 3);
    rig.write('folder/below/b.yaml', `apps:\n${appYaml({ port })}`);
    const { problems } = await untilState(gateway, 'refused');
    expect(problems[0].detail).toContain('is given twice');
    rmSync(join(rig.folder, 'folder/below/b.yaml'));
    await untilStatus(gateway, '/b/v1/x', 404);
    expect(await statusOf(gateway, '/a/v1/x')).toBe(200);
    // A folder that cannot be read is no empty folder.
    renameSync(join(rig.folder, 'folder'), join(rig.folder, 'folder-gone'));
    expect((await untilState(gateway, 'refused')).problems[0].detail).toContain('it does not exist');
    renameSync(join(rig.folder, 'folder-gone'), join(rig.folder, 'folder'));
    await untilState(gateway, 'current');
  });

  it.skipIf(process.getuid?.() !== 0)('that may not be read is reported', TIMEOUT, async () => {
    rig.write('locked.yaml', configYaml({ port }));
    chmodSync(rig.folder, 0o777);
    const gateway = await rig.start('locked.yaml', { uid: 65_534 });
    chmodSync(join(rig.folder, 'locked.yaml'), 0o000);
    expect((await untilState(gateway, 'refused')).problems[0].detail).toContain('permission denied');
    expect(await statusOf(gateway, '/a/v1/x')).toBe(200);
  });
});
