/**
 * The collector of the OpenTelemetry project, with the receiver for OTLP and the exporter that prints everything: built
 * by its own builder into the folder of packages, once for each version, and started on a free port.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '../backends/origin-process.ts';

const VERSION = 'v0.165.0';
const MODULES = 'go.opentelemetry.io/collector';
const CACHE = resolve(import.meta.dirname, `../../../node_modules/.cache/otel-collector-${VERSION}`);
const PROGRAM = join(CACHE, 'otelcol');

export interface OtelCollector {
  readonly url: string;
  /** What it has printed so far. */
  output(): string;
  stop(): Promise<void>;
}

export async function startOtelCollector(): Promise<OtelCollector> {
  if (!existsSync(PROGRAM)) build();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-collector-'));
  const port = await freePort();
  const config = join(folder, 'collector.yaml');
  writeFileSync(config, configOf(port));
  const program = spawn(PROGRAM, ['--config', config], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [program.stdout, program.stderr])
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const ended = new Promise<void>((done) => void program.once('exit', () => done()));
  const deadlineMs = performance.now() + 30_000;
  while (!text.includes('Everything is ready')) {
    if (program.exitCode !== null || performance.now() > deadlineMs)
      throw new Error(`The collector does not start:\n${text}`);
    await new Promise((done) => setTimeout(done, 50));
  }
  return {
    url: `http://127.0.0.1:${port}`,
    output: () => text,
    stop: async () => {
      program.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function build(): void {
  mkdirSync(CACHE, { recursive: true });
  const manifest = join(CACHE, 'builder.yaml');
  writeFileSync(
    manifest,
    `dist:
  name: otelcol
  output_path: ${join(CACHE, 'sources')}
receivers:
  - gomod: ${MODULES}/receiver/otlpreceiver ${VERSION}
exporters:
  - gomod: ${MODULES}/exporter/debugexporter ${VERSION}
`,
  );
  const { status, stderr, error } = spawnSync(
    'go',
    ['run', `${MODULES}/cmd/builder@${VERSION}`, '--config', manifest],
    { cwd: CACHE, encoding: 'utf8', env: { ...process.env, GOFLAGS: '-mod=mod' } },
  );
  if (status !== 0) throw new Error(`Cannot build the collector: ${error?.message ?? stderr}`);
  renameSync(join(CACHE, 'sources/otelcol'), PROGRAM);
  rmSync(join(CACHE, 'sources'), { recursive: true, force: true });
}

function configOf(port: number): string {
  return `receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:${port}
exporters:
  debug:
    verbosity: detailed
    sampling_initial: 10000
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    traces:
      receivers: [otlp]
      exporters: [debug]
    metrics:
      receivers: [otlp]
      exporters: [debug]
    logs:
      receivers: [otlp]
      exporters: [debug]
`;
}
