/**
 * One request to a collector by OTLP over HTTP (OTLP 1.x, "OTLP/HTTP"). Its body is sent in steps with pauses in
 * between, so that the thread never occupies for long a processor that a worker needs. Owns the request until it has
 * ended.
 */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http';
import type { Writable } from 'node:stream';
import { createGzip, type Gzip } from 'node:zlib';
import type { ExportBody, SendPace } from './export-body.ts';

/** A larger answer ends the attempt. */
const ANSWER_BYTES_MAX = 4_194_304;
/** Compressing takes some eight times as long as sending. */
const GZIP_SHARE = 8;

export type AttemptOutcome =
  | { readonly status: number; readonly answer: Uint8Array; readonly fields: IncomingHttpHeaders }
  | { readonly error: Error };

export interface AttemptOptions {
  /** The `request` of node:http or node:https. */
  readonly request: (options: RequestOptions) => ClientRequest;
  readonly options: RequestOptions;
  readonly isCompressed: boolean;
  readonly body: ExportBody;
  readonly pace: () => SendPace;
}

export class ExportAttempt {
  readonly #body: ExportBody;
  readonly #pace: () => SendPace;
  readonly #request: ClientRequest;
  readonly #gzip: Gzip | undefined;
  readonly #done = Promise.withResolvers<AttemptOutcome>();
  #isOver = false;
  #timer: NodeJS.Timeout | NodeJS.Immediate | undefined;

  /** @throws TypeError for a header field that cannot be sent */
  constructor({ request, options, isCompressed, body, pace }: AttemptOptions) {
    this.#body = body;
    this.#pace = pace;
    this.#request = request({
      ...options,
      headers: {
        ...(options.headers as Record<string, string>),
        ...(isCompressed ? { 'Content-Encoding': 'gzip' } : { 'Content-Length': String(body.length) }),
      },
    });
    this.#request.on('error', (error) => this.#end({ error }));
    this.#request.on('response', (response) => this.#answered(response));
    this.#gzip = isCompressed ? createGzip() : undefined;
    this.#gzip?.on('error', (error) => this.#end({ error }));
    this.#gzip?.pipe(this.#request);
    this.#begin();
  }

  /** The outcome; never rejects. */
  get outcome(): Promise<AttemptOutcome> {
    return this.#done.promise;
  }

  /** Cancels the request, if it has not ended. */
  cancel(reason: string): void {
    this.#end({ error: new Error(reason) });
  }

  /** Starting a request takes longer than a step: unless the body is short, it follows after a pause. */
  #begin(): void {
    const { stepBytes, pauseMs } = this.#steps();
    if (this.#body.length <= stepBytes) this.#send(0);
    else this.#sendAfter(pauseMs, 0);
  }

  #steps(): SendPace {
    const pace = this.#pace();
    return this.#gzip === undefined ? pace : { ...pace, stepBytes: pace.stepBytes / GZIP_SHARE };
  }

  #sendAfter(pauseMs: number, start: number): void {
    const send = (): void => this.#send(start);
    this.#timer = pauseMs === 0 ? setImmediate(send) : setTimeout(send, pauseMs);
  }

  #send(start: number): void {
    if (this.#isOver) return;
    const { stepBytes, pauseMs } = this.#steps();
    const end = Math.min(this.#body.length, start + stepBytes);
    const parts = this.#body.parts(start, end);
    const isLast = end === this.#body.length;
    const target: Writable = this.#gzip ?? this.#request;
    // All parts are one system call.
    target.cork();
    for (const [index, part] of parts.entries()) {
      if (isLast || index < parts.length - 1) target.write(part);
      else
        target.write(part, (error) => {
          // Otherwise the error event reports it.
          if (!this.#isOver && !(error instanceof Error)) this.#sendAfter(pauseMs, end);
        });
    }
    if (isLast) target.end();
    target.uncork();
  }

  #answered(response: IncomingMessage): void {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const status = response.statusCode ?? 0;
    const fields = response.headers;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX)
        this.cancel(`the collector answers with more than ${ANSWER_BYTES_MAX} bytes`);
      else chunks.push(chunk);
    });
    response.on('end', () => this.#end({ status, answer: Buffer.concat(chunks), fields }));
    // Without the body, the status decides.
    response.on('error', () => this.#end({ status, answer: new Uint8Array(), fields }));
  }

  #end(outcome: AttemptOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer as NodeJS.Timeout);
    clearImmediate(this.#timer as NodeJS.Immediate);
    // A connection whose request was cut off cannot be reused.
    if ('error' in outcome || !this.#request.writableFinished) this.#request.destroy();
    this.#gzip?.destroy();
    this.#done.resolve(outcome);
  }
}
