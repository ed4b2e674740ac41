/** The longest request body: what the announced length is compared with, and what is left to the engine. */
import { describe, expect, it } from 'vitest';
import type { Policy } from '../../registry.ts';
import { run, testFacts, testGateway } from '../../test-fixtures.ts';

const announced = (announcedBytes: number) => testFacts({}, { method: 'POST', announcedBytes });

describe('an announced length', () => {
  it.each<[string, Policy, number, number, string | undefined]>([
    ['as long as the route allows', { max_body_bytes: 100 }, 0, 100, undefined],
    ['longer', { max_body_bytes: 100 }, 0, 101, '100'],
    ['longer than the setting alone', { max_body_bytes: 100 }, 50, 100, undefined],
    ['longer than the setting, where the route says 0', { max_body_bytes: 0 }, 50, 51, '50'],
    ['longer than the setting, where the route says nothing', {}, 50, 51, '50'],
    ['of any size, where there is no bound', {}, 0, Number.MAX_SAFE_INTEGER, undefined],
    ['that is not known, as of a chunked body', { max_body_bytes: 100 }, 0, -1, undefined],
  ])('%s', async (_name, policy, maxBodyBytes, bytes, bound) => {
    const { denial } = await run(testGateway({ maxBodyBytes }).compile(policy), announced(bytes));
    const detail = bound && `The request body is larger than ${bound} bytes`;
    expect([denial?.code, denial?.detail]).toEqual([bound && 'body_too_large', detail]);
  });
});

it('is refused before a place or a permit is taken', async () => {
  const gateway = testGateway();
  const limits: Policy = {
    concurrency: { max: 1 },
    rate_limit: { enabled: true, requests: 1, window_seconds: 60 },
  };
  const policy = gateway.compile({ ...limits, max_body_bytes: 100 });
  for (let count = 0; count < 3; count++) {
    expect((await run(policy, announced(101))).denial?.code).toBe('body_too_large');
  }
  expect((await run(policy, announced(100))).denial).toBeUndefined();
});

it('in shadow mode leaves the setting in force, and the engine compares when the body has ended', async () => {
  const gateway = testGateway({ maxBodyBytes: 1_000 });
  const policy = gateway.compile({ max_body_bytes: 100, shadow: ['max_body_bytes'] });
  expect((await run(policy, announced(500))).denial).toBeUndefined();
  expect((await run(policy, announced(1_001))).denial?.code).toBe('body_too_large');
  expect(policy).toMatchObject({ maxBodyBytes: 0, shadowBodyBytes: 100 });
});
