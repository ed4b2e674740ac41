/** docs/how-to/traces.md, run as it is written, with a collector that takes what the gateway exports. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startCollector, type TestCollector } from '../../support/backends/collector.ts';
import { runPage } from '../../support/programs/docs-page.ts';

let collector: TestCollector;
beforeAll(async () => {
  collector = await startCollector();
});
afterAll(() => collector.close());

it('leads to a trace of the request that was refused', { timeout: 180_000 }, async () => {
  const problem = await runPage('docs/how-to/traces.md', {
    'http://127.0.0.1:4318': collector.url,
    'grep 4318': `grep ${collector.port}`,
  });
  expect(problem).toBeUndefined();
  // The page has asked for one trace of a request; a gateway that stops exports what it still has.
  expect(collector.spans.map(({ name, attributes }) => [name, attributes['headgate.error_code']])).toEqual([
    ['GET', 'no_route'],
  ]);
});
