/**
 * The way back, through the started program: every version of a random history can be shown and restored to the byte,
 * and traffic notices nothing but the configuration that it gets. `ROLLBACK_SEED=n` repeats a run.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin } from '../../support/backends/origin.ts';
import { randomSource, randomWrite } from '../../support/data/random-writes.ts';

const isPostgres = process.env['HEADGATE_TEST_DATABASE'] === 'postgres';
const VERSIONS = isPostgres ? 40 : 80;
const SEED = Number(process.env['ROLLBACK_SEED'] ?? Date.now() % 1_000_000);

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

/** The text of a dump, as it is sent. */
async function dumpText(query = ''): Promise<string> {
  const response = await fetch(`${gateway.base}/api/v1/config${query}`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  expect(response.status).toBe(200);
  return (await response.text()).replace(/"config_version":\d+,/, '');
}

// oxlint-disable-next-line typescript/no-explicit-any -- a dump is looked into freely
type Dump = any;

/** What a dump is without the keys that were deleted since. */
function withoutKeys(text: string, deleted: ReadonlySet<string>): string {
  const dump: Dump = JSON.parse(text);
  for (const app of Object.values<Dump>(dump.data.config.apps)) {
    for (const name of Object.keys(app.keys ?? {})) if (deleted.has(name)) delete app.keys[name];
    if (app.keys !== undefined && Object.keys(app.keys).length === 0) delete app.keys;
  }
  return JSON.stringify(dump);
}

function keysOf(text: string): string[] {
  const dump: Dump = JSON.parse(text);
  return Object.values<Dump>(dump.data.config.apps).flatMap((app) => Object.keys(app.keys ?? {}));
}

describe(`a history of ${VERSIONS} random versions (ROLLBACK_SEED=${SEED})`, () => {
  it('is shown and restored version by version, to the byte', { timeout: 300_000 }, async () => {
    const random = randomSource(SEED);
    const current = async (): Promise<number> => (await gateway.must('GET', '/config')).config_version;
    let names = 0;
    const made = new Set<string>();
    const unique = (): string => {
      const name = `key-${(names += 1)}`;
      made.add(name);
      return name;
    };
    const dumps = new Map<number, string>([[await current(), await dumpText()]]);
    while (dumps.size <= VERSIONS) {
      await randomWrite(gateway, random, unique);
      dumps.set(await current(), await dumpText());
    }
    expect(new Set(dumps.values()).size).toBeGreaterThan(VERSIONS / 3);
    for (const [version, text] of dumps) {
      expect(await dumpText(`?version=${version}`), `version ${version}`).toBe(text);
    }

    const restore = async (version: number): Promise<void> => {
      const before = new Set(keysOf(await dumpText()));
      const deleted = new Set([...made].filter((name) => !before.has(name)));
      const path = `/config/versions/${version}/rollback`;
      const { status, body } = await gateway.api('POST', path, { delete_keys: true });
      expect(status, `version ${version}: ${JSON.stringify(body)}`).toBe(200);
      const expected = withoutKeys(dumps.get(version) ?? '', deleted);
      expect(await dumpText(), `version ${version}`).toBe(expected);
    };
    const versions = [...dumps.keys()];
    for (const version of versions.toReversed()) await restore(version);
    for (let times = 0; times < VERSIONS / 4; times += 1) await restore(random.pick(versions));
  });
});

describe('a rollback while traffic flows', () => {
  it('fails no request, and no answer mixes two versions', { timeout: 120_000 }, async () => {
    const origin = await startOrigin();
    try {
      const declared = (mark: string): object => ({
        apps: {
          flow: {
            gateway_path: '/flow',
            default_policy: { headers: { request: { set: { 'x-app': mark } } } },
            versions: {
              v1: {
                revisions: {
                  r1: {
                    backend_scheme: 'http',
                    backend_host: '127.0.0.1',
                    backend_port: origin.port,
                    backend_base_path: `/${mark}`,
                    is_current: true,
                    endpoints: { 'GET /a': { backend_path: `/${mark}` } },
                  },
                },
              },
            },
          },
        },
      });
      const versions: number[] = [];
      for (const mark of ['one', 'two']) {
        await gateway.must('POST', '/config/apply', { config: declared(mark) });
        versions.push((await gateway.must('GET', '/config')).config_version);
      }
      let isDone = false;
      const answers: string[] = [];
      const client = async (): Promise<void> => {
        while (!isDone) {
          const response = await fetch(`${gateway.proxy}/flow/v1/a`);
          const { url, headers } = (await response.json()) as Dump;
          answers.push(`${response.status} ${headers['x-app']} ${url}`);
        }
      };
      const clients = [client(), client(), client(), client()];
      for (let times = 0; times < 20; times += 1) {
        const [version = 0, mark] = times % 2 === 0 ? [versions[0], 'one'] : [versions[1], 'two'];
        await gateway.must('POST', `/config/versions/${version}/rollback`, {});
        const response = await fetch(`${gateway.proxy}/flow/v1/a`);
        expect(((await response.json()) as Dump).url, 'the next request obeys it').toBe(`/${mark}/${mark}`);
      }
      isDone = true;
      await Promise.all(clients);
      expect(answers.length).toBeGreaterThan(100);
      expect([...new Set(answers)].toSorted()).toEqual(['200 one /one/one', '200 two /two/two']);
    } finally {
      await origin.close();
    }
  });
});
