/**
 * `fetch` for calls to an OpenID provider: reads at most a MiB of an answer, because the package reads answers as a
 * whole. The package limits the time of a call itself.
 */
const BYTES_MAX = 1_048_576;

export interface FetchOptions {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: RequestInit['body'];
  readonly redirect: 'manual';
  readonly signal?: AbortSignal | undefined;
}

/** Rejects when the answer is longer. */
export async function boundedFetch(url: string, options: FetchOptions): Promise<Response> {
  const { signal, body, ...others } = options;
  const request: RequestInit = { ...others };
  if (body !== undefined) request.body = body;
  if (signal !== undefined) request.signal = signal;
  const response = await fetch(url, request);
  const { status, statusText, headers } = response;
  const bytes = await readAll(response);
  // These statuses allow no body, not even an empty one.
  const isEmpty = status === 204 || status === 205 || status === 304;
  return new Response(isEmpty ? null : bytes, { status, statusText, headers });
}

async function readAll({ body }: Response): Promise<Buffer<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  if (body === null) return Buffer.alloc(0);
  // Leaving the loop early ends the connection.
  for await (const part of body) {
    length += part.byteLength;
    if (length > BYTES_MAX) throw new Error(`The provider's answer has more than ${BYTES_MAX} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
