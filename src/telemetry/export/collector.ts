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
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ExportStart } from './export-messages.ts';

/** Beyond the time of an export: then its connection is closed. */
const GRACE_MS = 1_000;
const PROBLEM_CHARS_MAX = 300;

interface Export {
  readonly body: Uint8Array;
  readonly spans: number;
  /** Spans that the collector did not take although it took the export. */
  rejected: number;
  rejection: string;
}

export interface ExportOutcome {
  /** Spans that were not taken. */
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

  constructor({ url, headers, timeoutMs, compression, ca, cert, key }: ExportStart) {
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
      'TRACES',
      'v1/traces',
      { 'Content-Type': 'application/x-protobuf' },
    );
    this.#exporter = createOtlpHttpExportDelegate<Export, unknown>(
      options,
      {
        serializeRequest: ({ body }) => body,
        deserializeResponse: (data) => this.#answered(data),
      },
      'headgate_exporter',
      { name: 'span', countItems: ({ spans }) => spans },
      undefined,
    );
  }

  /** One at a time. Never rejects. */
  async export(body: Uint8Array, spans: number): Promise<ExportOutcome> {
    const current: Export = { body, spans, rejected: 0, rejection: '' };
    this.#current = current;
    const { promise, resolve } = Promise.withResolvers<ExportOutcome>();
    const patience = setTimeout(() => {
      // Ends the request too, as that is the only one.
      this.#agent.destroy();
      resolve({ failed: spans, problem: `the collector takes longer than ${this.#timeoutMs} ms` });
    }, this.#timeoutMs + GRACE_MS);
    this.#exporter.export(current, ({ code, error }) => {
      if (code === ExportResultCode.SUCCESS)
        resolve({ failed: current.rejected, problem: current.rejection });
      else resolve({ failed: spans, problem: problemOf(error) });
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
    const response = ProtobufTraceSerializer.deserializeResponse(data);
    const { rejectedSpans = 0, errorMessage = '' } = response.partialSuccess ?? {};
    const current = this.#current;
    if (current !== undefined && rejectedSpans > 0) {
      current.rejected = Math.min(current.spans, rejectedSpans);
      current.rejection = cut(`the collector refused some spans: ${errorMessage}`);
    }
    return {};
  }
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
