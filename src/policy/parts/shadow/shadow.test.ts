import { expect, it } from 'vitest';
import { PARTS } from '../../registry.ts';
import { run, testFacts, testGateway } from '../../test-fixtures.ts';

it('names parts that deny, and neither itself nor those that only carry', () => {
  const named = PARTS.filter(({ mayShadow }) => mayShadow);
  expect(named.every(({ stages = [] }) => stages.length > 0)).toBe(true);
  expect(named.map(({ name }) => name)).not.toContain('shadow');
});

it('notes the denials of the parts that it names, and obeys those of the others', async () => {
  const policy = testGateway().compile({
    allowed_methods: ['GET'],
    ip_access: { deny: ['192.0.2.9'] },
    shadow: ['allowed_methods'],
  });
  const noted = await run(policy, testFacts({}, { method: 'PUT' }));
  expect(noted.denial).toBeUndefined();
  expect(noted.evaluation.shadowDenials?.map(({ part }) => part)).toEqual(['allowed_methods']);
  const denied = await run(policy, testFacts({}, { method: 'PUT', clientIp: '192.0.2.9' }));
  expect(denied.denial?.code).toBe('ip_denied');
  expect(denied.evaluation.shadowDenials).toBeUndefined();
});
