/**
 * Nanoseconds that a line of the access log costs the thread that serves the request: the text is built and collected,
 * nothing is written. Without a network:
 *
 *     node bench/log-micro.ts [seconds]
 *
 * The cases take turns in batches; the best and the median batch of each are printed.
 */
import { AccessLog, type AccessRecord } from '../src/observe/access-log.ts';
import { ACCESS_FIELDS, type AccessField } from '../src/model/access-fields.ts';
import { median } from '../test/support/measure/stats.ts';

const BATCH = 10_000;
const WARM_UP_BATCHES = 20;
const LABELS = Object.freeze({
  app: 'billing',
  version: 'v1',
  revision: 'r1',
  route: '/billing/v1/invoices/{id}',
});

const record = (index: number): AccessRecord => ({
  timeMs: 1_767_225_600_000 + index,
  requestId: `0198c5a6-7b1d-7c3e-9f00-${String(index).padStart(12, '0')}`,
  labels: LABELS,
  method: 'GET',
  host: 'api.example.com',
  path: `/billing/v1/invoices/${index}`,
  protocol: 'HTTP/1.1',
  status: 200,
  bytesIn: 0,
  bytesOut: 1_024,
  durationMs: 1.234 + (index % 7),
  upstreamMs: 0.912,
  keyId: '0198c5a6-7b1d-7c3e-9f00-a1b2c3d4e5f6',
  clientIp: '192.0.2.17',
  errorCode: undefined,
  errorDetail: '',
  isAborted: false,
  shadowDenials: undefined,
  retries: 0,
});

const records = Array.from({ length: BATCH }, (_, index) => record(index));
let bytes = 0;
const block = Buffer.allocUnsafeSlow(65_536);
const output = {
  write: () => undefined,
  append: (lines: Uint8Array): void => {
    block.set(lines);
    bytes += lines.length;
  },
  push: () => undefined,
  flushSync: () => undefined,
  droppedLines: 0,
};
const caseOf = (name: string, fields: readonly AccessField[]) => ({
  name,
  log: new AccessLog(output, { format: 'json', mode: 'all', level: 'info', fields }),
  ns: [] as number[],
});
const cases = [
  caseOf('all fields', ACCESS_FIELDS),
  caseOf(
    'without host and path',
    ACCESS_FIELDS.filter((name) => name !== 'host' && name !== 'path'),
  ),
];
const endMs = performance.now() + Number(process.argv[2] ?? 5) * 1000;
for (let round = 0; performance.now() < endMs || round < 2 * WARM_UP_BATCHES; round++) {
  for (const { log, ns } of cases) {
    const begunMs = performance.now();
    for (const each of records) log.write(each);
    log.flush();
    if (round >= WARM_UP_BATCHES) ns.push(((performance.now() - begunMs) * 1e6) / BATCH);
  }
}
for (const { name, ns } of cases) {
  process.stdout.write(
    `${name.padEnd(24)} best ${Math.min(...ns).toFixed(0)} ns  median ${median(ns).toFixed(0)} ns\n`,
  );
}
if (bytes === 0) throw new Error('nothing was written');
