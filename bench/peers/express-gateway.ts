/**
 * A peer: the npm package `express-gateway`, one pipeline that passes everything on. It is not among the project's
 * packages; who wants it in the bench installs it beside them (docs/explanation/performance.md).
 */
import { createRequire } from 'node:module';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

type ExpressGateway = () => { load(folder: string): { run(): Promise<unknown> } };

const require = createRequire(import.meta.url);
const gateway = require('express-gateway') as ExpressGateway;
const folder = join(process.env['BENCH_FOLDER'] ?? '', 'config');
const { BENCH_PORT: port, BENCH_ORIGIN_PORT: originPort } = process.env;
// The package insists on what users, applications and credentials look like, and brings that along.
cpSync(join(require.resolve('express-gateway'), '../config/models'), join(folder, 'models'), {
  recursive: true,
});
// JSON is YAML. The management API takes any free port; the bench does not use it.
writeFileSync(
  join(folder, 'gateway.config.yml'),
  JSON.stringify({
    http: { port: Number(port), hostname: '127.0.0.1' },
    admin: { port: 0, host: '127.0.0.1' },
    apiEndpoints: { shop: { host: '*', paths: ['/*'] } },
    serviceEndpoints: { origin: { url: `http://127.0.0.1:${originPort}` } },
    policies: ['proxy'],
    pipelines: [
      {
        name: 'shop',
        apiEndpoints: ['shop'],
        policies: [{ proxy: [{ action: { serviceEndpoint: 'origin' } }] }],
      },
    ],
  }),
);
writeFileSync(
  join(folder, 'system.config.yml'),
  JSON.stringify({
    db: { redis: { emulate: true, namespace: 'EG' } },
    crypto: { cipherKey: 'unused', algorithm: 'aes256', saltRounds: 10 },
    session: { secret: 'unused', resave: false, saveUninitialized: false },
  }),
);
await gateway().load(folder).run();
