/**
 * What changes while a soak runs: API keys come and go, whole routes come and go under names that return, a policy is
 * written again and again. The load is told of each, so that it never asks for what is about to go.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { TestGateway } from '../support/gateway.ts';
import { createKey } from '../support/policies.ts';
import type { SoakLoad } from './soak-load.ts';
import type { Target } from './soak-load-process.ts';
import { createEndpoint, createService, revisionPath, type Served } from '../support/traffic.ts';

export const STEADY = 'steady';
const KEYS_ALIVE = 40;
const ROUTE_SLOTS = 20;
const NAME = 'soak';

export function targetOf(
  id: string,
  path: string,
  token: string | undefined,
  parts: Partial<Target> = {},
): Target {
  const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
  return {
    id,
    head: `GET ${path} HTTP/1.1\r\nHost: gateway.test\r\n${authorization}`,
    status: 200,
    body: `/${path.split('/').slice(3).join('/')}`,
    ...parts,
  };
}

export class SoakChurn {
  readonly #gateway: TestGateway;
  readonly #load: SoakLoad;
  /** Those that the load uses now, oldest first. */
  readonly keys: Served[] = [];
  readonly #slots = new Set<number>();
  #changes = 0;
  #running = true;
  /** Between two steps. */
  stepMs: number;

  constructor(gateway: TestGateway, load: SoakLoad, stepMs: number) {
    this.#gateway = gateway;
    this.#load = load;
    this.stepMs = stepMs;
  }

  /** Changes that were made. */
  get changes(): number {
    return this.#changes;
  }

  stop(): void {
    this.#running = false;
  }

  /** One step after the other, until `stop`. */
  async run(): Promise<void> {
    let step = 0;
    while (this.#running) {
      if (step % 4 === 1) await this.#renewRoute((step >> 2) % ROUTE_SLOTS);
      else if (step % 4 === 3) await this.#rewritePolicy(step);
      else await this.#renewKey();
      step += 1;
      await pause(this.stepMs);
    }
  }

  async #renewKey(): Promise<void> {
    const oldest: Served = this.keys.length < KEYS_ALIVE ? undefined : this.keys.shift();
    if (oldest !== undefined) {
      await this.#load.remove(oldest.id);
      await this.#gateway.must('DELETE', `/apps/${STEADY}/tokens/${oldest.id}`);
      this.#changes += 1;
    }
    const key = await createKey(this.#gateway, STEADY, { name: NAME });
    this.keys.push(key);
    this.#load.add(targetOf(key.id, `/${STEADY}/v1/x`, key.token));
    this.#changes += 1;
  }

  async #renewRoute(slot: number): Promise<void> {
    const slug = `route${slot}`;
    if (this.#slots.has(slot)) {
      await this.#load.remove(slug);
      await this.#gateway.must('DELETE', `/apps/${slug}?cascade=true`);
      this.#changes += 1;
    }
    await createService(this.#gateway, slug, this.#load.backendPort, {
      app: { routing_mode: 'managed_endpoint' },
    });
    await createEndpoint(this.#gateway, slug, 'GET', '/items/{id}');
    this.#slots.add(slot);
    this.#load.add(targetOf(slug, `/${slug}/v1/items/7`, undefined));
    this.#changes += 4;
  }

  /** Something that no answer shows. */
  async #rewritePolicy(step: number): Promise<void> {
    const policy = { allowed_methods: step % 8 === 3 ? ['GET', 'POST'] : ['GET'] };
    await this.#gateway.must('PATCH', revisionPath(STEADY), { default_policy: policy });
    this.#changes += 1;
  }
}
