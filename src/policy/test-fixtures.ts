/** Shared by the tests of this folder: an app, keys, facts and dependencies with a fixed clock. */
import { randomBytes } from 'node:crypto';
import { Egress } from '../egress/egress.ts';
import { createOwnPorts, OwnListeners } from '../egress/own-listeners.ts';
import { SharedConcurrencyStore } from '../limits/concurrency.ts';
import { createLimitMemory, SharedMemoryLimitStore } from '../limits/local/local-store.ts';
import type { EffectivePolicy, PolicySource } from '../model/policy.ts';
import type { Policy } from './registry.ts';
import { headerLines, operatorDetail } from '../model/reason.ts';
import type { App, StoredApiKey } from '../model/resources.ts';
import { API_KEY_PREFIX, createToken, tokenDisplayPrefix, tokenHash } from '../model/token.ts';
import { presentedKey, type PresentedKey } from '../keys/presented-key.ts';
import { createPolicyCompiler } from './compile-policy.ts';
import type { AuthOutcome, KeyDirectory, PolicyDependencies } from './dependencies.ts';
import { TrustStore } from '../x509/trust-store.ts';
import { evaluate, newEvaluation } from './evaluate.ts';
import type { CompiledPolicy, Denial, Evaluation, RequestFacts } from './stage.ts';

/** Start of a minute, so that fixed windows are at their beginning. */
export const NOW_MS = Date.UTC(2026, 0, 31, 12, 0, 0);

export function testApp(slug = 'billing'): App {
  return {
    id: `app-${slug}`,
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
    name: slug,
    slug,
    gateway_path: `/${slug}`,
    routing_mode: 'pass_through',
    default_policy: null,
    description: null,
    labels: {},
    hosts: [],
    allow_encoded_slashes: false,
  };
}

export function effective(
  policy: Policy,
  source: PolicySource = { level: 'app', id: 'a1' },
): EffectivePolicy {
  const sources: Record<string, PolicySource> = {};
  for (const part of Object.keys(policy)) sources[part] = source;
  return { policy, sources };
}

export function testFacts(
  headers: Readonly<Record<string, string>> = {},
  overrides: Partial<Omit<RequestFacts, 'header' | 'combined'>> = {},
): RequestFacts {
  return {
    method: 'GET',
    path: '/billing/invoices',
    clientIp: '192.0.2.1',
    announcedBytes: -1,
    nowMs: NOW_MS,
    clientTls: undefined,
    ended: false,
    ...overrides,
    header: (name) => headers[name],
    combined: (name) => headers[name],
  };
}

/** A directory of keys as the snapshot holder keeps it. */
export class TestKeys implements KeyDirectory {
  generation = 0;
  lookups = 0;
  readonly #byHash = new Map<string, StoredApiKey>();

  findPresentedKey(digest: string): PresentedKey | undefined {
    this.lookups++;
    const hash = Buffer.from(digest, 'latin1').toString('hex');
    const key = this.#byHash.get(hash);
    return key && presentedKey(key, key.token_hash !== hash);
  }

  put(key: StoredApiKey): void {
    this.#byHash.set(key.token_hash, key);
    if (key.previous_token_hash !== null) this.#byHash.set(key.previous_token_hash, key);
    this.generation++;
  }

  remove(key: StoredApiKey): void {
    this.#byHash.delete(key.token_hash);
    this.generation++;
  }

  /** Makes a key and its token. */
  create(overrides: Partial<StoredApiKey> = {}): { readonly token: string; readonly key: StoredApiKey } {
    const token = createToken(API_KEY_PREFIX, randomBytes(32));
    const key: StoredApiKey = {
      id: `key-${this.generation + 1}`,
      created_at: '2026-01-01T00:00:00.000Z',
      updated_at: '2026-01-01T00:00:00.000Z',
      app_id: 'app-billing',
      name: 'nightly job',
      scopes: ['read'],
      token_prefix: tokenDisplayPrefix(token),
      is_active: true,
      expires_at: null,
      last_used_at: null,
      rate_limit: null,
      token_hash: tokenHash(token),
      previous_token_hash: null,
      previous_expires_at: null,
      ...overrides,
    };
    this.put(key);
    return { token, key };
  }
}

export interface TestGateway {
  readonly keys: TestKeys;
  readonly outcomes: AuthOutcome[];
  readonly limited: string[];
  readonly jwksFailures: string[];
  /** Monotonic milliseconds; tests move it. */
  readonly time: { monotonicMs: number };
  readonly dependencies: PolicyDependencies;
  compile(policy: Policy, source?: PolicySource, app?: App): CompiledPolicy;
}

export function testGateway(overrides: Partial<PolicyDependencies> = {}): TestGateway {
  const keys = new TestKeys();
  const outcomes: AuthOutcome[] = [];
  const limited: string[] = [];
  const jwksFailures: string[] = [];
  const time = { monotonicMs: 1_000_000 };
  const clock = { nowMs: () => NOW_MS, monotonicMs: () => time.monotonicMs };
  const memory = createLimitMemory({ counterBytes: 2 ** 20 });
  const dependencies: PolicyDependencies = {
    clock,
    limits: new SharedMemoryLimitStore(memory, 1, clock),
    concurrency: new SharedConcurrencyStore(memory.concurrency, memory.hashKey, 1),
    keys,
    jwtDefaults: {
      issuer: undefined,
      audiences: [],
      jwksUri: undefined,
      secret: undefined,
      algorithms: [],
      leewaySecs: 0,
    },
    trust: new TrustStore(),
    globals: undefined,
    perIp: undefined,
    ipv6PrefixBits: 64,
    authFailuresPerMinute: 0,
    maxBodyBytes: 0,
    egress: new Egress(
      { allow: [], deny: [], unixSocketsFrom: [] },
      new OwnListeners(createOwnPorts(), clock),
    ),
    onAuth: (outcome) => outcomes.push(outcome),
    onLimit: (admitted, kind) => limited.push(`${kind} ${admitted ? 'admitted' : 'refused'}`),
    onJwksFailure: (uri, reason) => jwksFailures.push(`${uri}: ${reason}`),
    onJwksRecovery: () => undefined,
    onJwksKeySkipped: (uri, kid, reason) => jwksFailures.push(`${uri}: key ${kid} ${reason}`),
    ...overrides,
  };
  const compiler = createPolicyCompiler(dependencies);
  return {
    keys,
    outcomes,
    limited,
    jwksFailures,
    time,
    dependencies,
    compile: (policy, source, app = testApp()) => compiler(effective(policy, source), app),
  };
}

/** A denial with its texts, as the edge makes them. */
export interface ShownDenial {
  readonly code: string;
  readonly detail: string;
  readonly headerLines: string;
}

export interface Verdict {
  readonly denial: ShownDenial | undefined;
  readonly evaluation: Evaluation;
}

export async function run(policy: CompiledPolicy, facts: RequestFacts): Promise<Verdict> {
  const evaluation = newEvaluation();
  const denial = await evaluate(policy, facts, evaluation);
  return { denial: denial && shownDenial(denial), evaluation };
}

function shownDenial(denial: Denial): ShownDenial {
  return { code: denial.kind.code, detail: operatorDetail(denial), headerLines: headerLines(denial) };
}

export const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });
