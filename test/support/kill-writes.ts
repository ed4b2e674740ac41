/**
 * Management writes, kill -9 in the middle of them, and a look at what is there after the restart. Each writer has an
 * app of its own and makes one change after the other, so what may be there is known: all that was acknowledged, and
 * of the one change that was under way either everything or nothing.
 */
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './origin-process.ts';
import { startGateway, type TestGateway } from './gateway.ts';
import { startLeanBackend } from './lean-client.ts';
import { sendRaw } from './raw-client.ts';
import { createService, requestText } from './traffic.ts';
import { until } from './until.ts';

export interface KillScenario {
  readonly rounds: number;
  /** Acknowledged writes of a round before the kill, at least. */
  readonly writesPerRound: number;
  readonly writers: number;
}

export interface KillOutcome {
  readonly acknowledged: number;
  /** That were there although nobody was told: they were under way. */
  readonly unacknowledged: number;
  /** What is wrong, in words. */
  readonly wrong: readonly string[];
  /** From the start command to the first request that was served, per round. */
  readonly servingMs: readonly number[];
}

const WORD = 'served';

export async function killDuringWrites(scenario: KillScenario): Promise<KillOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-kill-'));
  const backend = await startLeanBackend(() => WORD);
  const env = {
    GATEWAY_PROXY__PORT: String(await freePort()),
    GATEWAY_LOG__ACCESS: 'false',
  };
  const wrong: string[] = [];
  const servingMs: number[] = [];
  const writers = Array.from({ length: scenario.writers }, (_, index) => new Writer(index));
  let gateway: TestGateway | undefined;
  try {
    gateway = await startGateway({ folder, env });
    await createService(gateway, 'steady', backend.port);
    for (const writer of writers) await writer.begin(gateway, backend.port);
    for (let round = 0; round < scenario.rounds; round++) {
      await writeAndKill(gateway, writers, scenario.writesPerRound);
      const startedMs = performance.now();
      const next = startGateway({ folder, env });
      const port = Number(env.GATEWAY_PROXY__PORT);
      await until(async () => {
        const answer = await sendRaw(port, requestText('/steady/v1/x')).catch(() => undefined);
        return answer?.status === 200 && answer.body === WORD;
      }, 60_000);
      servingMs.push(performance.now() - startedMs);
      gateway = await next;
      for (const writer of writers) wrong.push(...(await writer.check(gateway)));
      wrong.push(...(await checkAudit(gateway, writers)));
    }
    const acknowledged = writers.reduce((sum, writer) => sum + writer.acknowledged, 0);
    const unacknowledged = writers.reduce((sum, writer) => sum + writer.unacknowledged, 0);
    return { acknowledged, unacknowledged, wrong, servingMs };
  } finally {
    await gateway?.kill();
    await backend.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** All write until so many are acknowledged, and then for a random moment more. */
async function writeAndKill(
  gateway: TestGateway,
  writers: readonly Writer[],
  writesPerRound: number,
): Promise<void> {
  const total = (): number => writers.reduce((sum, writer) => sum + writer.acknowledged, 0);
  const goal = total() + writesPerRound;
  let isOver = false;
  const writing = writers.map(async (writer) => {
    while (!isOver && (await writer.write(gateway)));
  });
  await until(() => total() >= goal, 120_000);
  await new Promise((done) => setTimeout(done, randomInt(20)));
  await gateway.kill();
  isOver = true;
  await Promise.all(writing);
}

/** What a writer's app is to look like. */
interface Shape {
  readonly description: string;
  /** Labels of versions, each with one revision and one endpoint of the same name. */
  readonly basePath: string;
  readonly keys: readonly string[];
}

class Writer {
  acknowledged = 0;
  unacknowledged = 0;
  readonly slug: string;
  #shape: Shape = { description: 'change 0', basePath: '/0', keys: [] };
  /** What it may look like besides, because a change was under way. */
  #maybe: Shape | undefined;
  #count = 0;

  constructor(index: number) {
    this.slug = `writer-${index}`;
  }

  async begin(gateway: TestGateway, backendPort: number): Promise<void> {
    await createService(gateway, this.slug, backendPort, {
      app: { description: 'change 0' },
      revision: { backend_base_path: '/0' },
    });
  }

  /** One change. False when the gateway is gone. */
  async write(gateway: TestGateway): Promise<boolean> {
    const count = ++this.#count;
    const [method, path, body, next] = this.#change(count);
    this.#maybe = next;
    const answer = await gateway.api(method, path, body).catch(() => undefined);
    if (answer === undefined) return false;
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}`);
    this.acknowledged += 1;
    this.#shape = next;
    this.#maybe = undefined;
    return true;
  }

  #change(count: number): [method: string, path: string, body: unknown, next: Shape] {
    const app = `/apps/${this.slug}`;
    const shape = this.#shape;
    if (count % 3 === 0) {
      const description = `change ${count}`;
      return ['PATCH', app, { description }, { ...shape, description }];
    }
    if (count % 3 === 1) {
      const basePath = `/${count}`;
      const path = `${app}/versions/v1/revisions/r1`;
      return ['PATCH', path, { backend_base_path: basePath }, { ...shape, basePath }];
    }
    const name = `key ${count}`;
    return ['POST', `${app}/tokens`, { name, scopes: ['a'] }, { ...shape, keys: [...shape.keys, name] }];
  }

  /** Also takes what was found for what is there from now on. */
  async check(gateway: TestGateway): Promise<string[]> {
    const app = await gateway.must('GET', `/apps/${this.slug}`);
    const revision = await gateway.must('GET', `/apps/${this.slug}/versions/v1/revisions/r1`);
    const found: Shape = {
      description: app.description,
      basePath: revision.backend_base_path,
      keys: (await allOf(gateway, `/apps/${this.slug}/tokens`)).map(({ name }) => String(name)).toSorted(),
    };
    const maybe = this.#maybe;
    this.#maybe = undefined;
    if (isSame(found, this.#shape)) return [];
    if (maybe === undefined || !isSame(found, maybe)) {
      const expected = [this.#shape, ...(maybe === undefined ? [] : [maybe])];
      return [`${this.slug} is ${JSON.stringify(found)}; expected one of ${JSON.stringify(expected)}`];
    }
    this.unacknowledged += 1;
    this.#shape = maybe;
    return [];
  }
}

function isSame(left: Shape, right: Shape): boolean {
  const text = ({ description, basePath, keys }: Shape): string =>
    JSON.stringify([description, basePath, keys.toSorted()]);
  return text(left) === text(right);
}

/** Every change has one entry, and the config versions have no gap. */
async function checkAudit(gateway: TestGateway, writers: readonly Writer[]): Promise<string[]> {
  const entries = await allOf(gateway, '/audit');
  const versions = entries.map(({ config_version }) => Number(config_version)).toSorted((a, b) => a - b);
  const gaps = versions.filter((version, index) => version !== index + 1);
  // Three writes each to begin with, and those of the app that is always there.
  const writes =
    3 + writers.reduce((sum, { acknowledged, unacknowledged }) => sum + 3 + acknowledged + unacknowledged, 0);
  const wrong: string[] = [];
  if (gaps.length > 0) wrong.push(`config versions have gaps, the first before ${gaps[0]}`);
  if (entries.length !== writes) wrong.push(`${entries.length} audit entries for ${writes} writes`);
  return wrong;
}

async function allOf(gateway: TestGateway, path: string): Promise<Record<string, unknown>[]> {
  const all: Record<string, unknown>[] = [];
  let cursor = '';
  do {
    const answer = await gateway.api('GET', `${path}?limit=500${cursor}`);
    if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}`);
    all.push(...answer.body.data);
    const next: string | null = answer.body.page.next_cursor;
    cursor = next === null ? '' : `&cursor=${encodeURIComponent(next)}`;
  } while (cursor !== '');
  return all;
}
