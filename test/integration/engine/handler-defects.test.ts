/** A defect in a part of a policy costs its own request and nothing else, also where the answer cannot be made. */
import { Type } from 'typebox';
import { afterEach, expect, test } from 'vitest';
import { definePart, type PartContribution } from '../../../src/policy/part.ts';
import { PARTS, type Policy } from '../../../src/policy/registry.ts';
import type { StageResult } from '../../../src/policy/stage.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';

type Defect = 'stage' | 'fields' | 'none';
let defect: Defect = 'none';
let isAsync = false;

function runStage(): StageResult | Promise<StageResult> {
  const outcome = (): StageResult => {
    if (defect === 'none') return undefined;
    throw new Error('defect of a stage');
  };
  return isAsync ? new Promise((resolve) => setImmediate(resolve)).then(outcome) : outcome();
}

const FAULTY = definePart({
  name: 'faulty',
  schema: Type.Boolean({ description: 'Fails.' }),
  docs: { summary: 'a test', example: true },
  mayShadow: false,
  stages: [{ name: 'faulty', phase: 'quota' }],
  compile: (value): PartContribution | undefined =>
    value === true
      ? {
          stages: [{ part: 'faulty', run: runStage, shadow: false }],
          responseFields: {
            nameOf: () => undefined,
            lines: () => {
              if (defect !== 'fields') return 'X-Added: 1\r\n';
              throw new Error('defect of the fields');
            },
          },
        }
      : undefined,
});

let proxy: TestProxy;
afterEach(async () => {
  defect = 'none';
  await proxy.close();
});

async function answered(port: number): Promise<{ status: number; id: string | undefined; whole: string }> {
  const client = await connectRaw(port);
  client.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
  const { status, headers } = await client.response();
  await client.closed();
  return { status, id: headers['x-request-id'], whole: client.received() };
}

test.each([
  ['stage', false, 1],
  ['stage', true, 1],
  ['fields', false, 2],
  ['fields', true, 2],
] as const)(
  'a defect of the %s (waits: %s) is a 500, is logged, and holds nothing',
  async (kind, waits, logged) => {
    const policy = { faulty: true, concurrency: { max: 1 } } as Policy;
    const setup = { backendPort: 1, policy };
    const ended: number[] = [];
    proxy = await startProxy(oneRoute(setup), {
      parts: [...PARTS, FAULTY],
      observer: { exchangeEnded: ({ status }) => void ended.push(status) },
    });
    [defect, isAsync] = [kind, waits];
    for (let round = 1; round <= 3; round++) {
      const { status, id, whole } = await answered(proxy.port);
      expect([status, whole.match(/connection: close/i)?.length]).toEqual([500, 1]);
      expect(id).toMatch(/./);
      expect(proxy.defects).toHaveLength(round * logged);
      expect(ended).toHaveLength(round);
    }
    expect(proxy.context.exchangeLimiter.inUse).toBe(0);
    defect = 'none';
    // No backend listens: the permit of the cap is free, else it would be 429.
    const client = await connectRaw(proxy.port);
    client.write('GET /a/v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
    expect((await client.response()).status).toBe(502);
    client.end();
  },
);
