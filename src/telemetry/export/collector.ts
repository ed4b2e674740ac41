/**
 * Sends exports to a collector with the official OTLP exporter for HTTP, which retries as the specification says; the
 * bodies are made here already. It has no bound on a response that never ends, so that is here. Owns the connections.
 */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { ExportResultCode } from '@opentelemetry/core';
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from '@opentelemetry/otlp-exporter-base/node-http';
import {
  ProtobufLogsSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
} from '@opentelemetry/otlp-transformer';
import type { ConnectionStart } from './export-messages.ts';

/** Beyond the time of an export: then its connection is closed. */
const GRACE_MS = 1_000;
const PROBLEM_CHARS_MAX = 300;

export type Signal = 'traces' | 'metrics' | 'logs';

/** As the library and messages call what is exported. */
const SIGNALS = {
  traces: { identifier: 'TRACES', item: 'span', items: 'spans' },
  metrics: { identifier: 'METRICS', item: 'metric_data_point', items: 'points of metrics' },
  logs: { identifier: 'LOGS', item: 'log', items: 'log records' },
} as const;

interface Export {
  readonly body: Uint8Array;
  readonly items: number;
  /** Items that the collector did not take although it took the export. */
  rejected: number;
  rejection: string;
}

export interface ExportOutcome {
  /** Items that were not taken. */
  readonly failed: number;
  /** Why; '' if none failed. */
  readonly problem: string;
}

export class Collector {
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #timeoutMs: number;
  readonly #exporter: ReturnType<typeof createOtlpHttpExportDelegate<Export, unknown>>;
  /** The one that is under way: there is one at a time. */
  #current: Export | undefined;

  readonly #signal: Signal;

  /** @param url whole */
  constructor(
    signal: Signal,
    url: string,
    { headers, timeoutMs, compression, ca, cert, key }: ConnectionStart,
  ) {
    this.#signal = signal;
    const { identifier, item } = SIGNALS[signal];
    const secure = url.startsWith('https:');
    const tls = { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert, key }) };
    this.#agent = secure ? new HttpsAgent({ keepAlive: true, ...tls }) : new HttpAgent({ keepAlive: true });
    this.#timeoutMs = timeoutMs;
    const options = convertLegacyHttpOptions(
      {
        url,
        headers: { ...headers },
        timeoutMillis: timeoutMs,
        compression: compression === 'gzip' ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE,
        concurrencyLimit: 2,
        httpAgentOptions: () => this.#agent,
        userAgent: 'Headgate',
      },
      identifier,
      `v1/${signal}`,
      { 'Content-Type': 'application/x-protobuf' },
    );
    this.#exporter = createOtlpHttpExportDelegate<Export, unknown>(
      options,
      {
        serializeRequest: ({ body }) => body,
        deserializeResponse: (data) => this.#answered(data),
      },
      'headgate_exporter',
      { name: item, countItems: ({ items }) => items },
      undefined,
    );
  }

  /** One at a time. Never rejects. */
  async export(body: Uint8Array, items: number): Promise<ExportOutcome> {
    const current: Export = { body, items, rejected: 0, rejection: '' };
    this.#current = current;
    const { promise, resolve } = Promise.withResolvers<ExportOutcome>();
    const patience = setTimeout(() => {
      // Ends the request too, as that is the only one.
      this.#agent.destroy();
      resolve({ failed: items, problem: `the collector takes longer than ${this.#timeoutMs} ms` });
    }, this.#timeoutMs + GRACE_MS);
    this.#exporter.export(current, ({ code, error }) => {
      if (code === ExportResultCode.SUCCESS)
        resolve({ failed: current.rejected, problem: current.rejection });
      else resolve({ failed: items, problem: problemOf(error) });
    });
    try {
      return await promise;
    } finally {
      clearTimeout(patience);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Notes what the collector did not take (OTLP 1.x, "Partial Success"). */
  #answered(data: Uint8Array): unknown {
    const { rejected, message } = partialSuccess(this.#signal, data);
    const current = this.#current;
    if (current !== undefined && rejected > 0) {
      current.rejected = Math.min(current.items, rejected);
      current.rejection = cut(`the collector refused some ${SIGNALS[this.#signal].items}: ${message}`);
    }
    return {};
  }
}

function partialSuccess(
  signal: Signal,
  data: Uint8Array,
): { readonly rejected: number; readonly message: string } {
  if (signal === 'metrics') {
    const { partialSuccess: part } = ProtobufMetricsSerializer.deserializeResponse(data);
    return { rejected: part?.rejectedDataPoints ?? 0, message: part?.errorMessage ?? '' };
  }
  if (signal === 'logs') {
    const { partialSuccess: part } = ProtobufLogsSerializer.deserializeResponse(data);
    return { rejected: part?.rejectedLogRecords ?? 0, message: part?.errorMessage ?? '' };
  }
  const { partialSuccess: part } = ProtobufTraceSerializer.deserializeResponse(data);
  return { rejected: part?.rejectedSpans ?? 0, message: part?.errorMessage ?? '' };
}

/** Without the body of a response, which can hold anything. */
function problemOf(error: Error | undefined): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  if (typeof code === 'number') return `the collector answers ${code}`;
  return cut(error?.message === undefined || error.message === '' ? 'the export failed' : error.message);
}

function cut(text: string): string {
  return text.length > PROBLEM_CHARS_MAX ? `${text.slice(0, PROBLEM_CHARS_MAX - 3)}...` : text;
}
