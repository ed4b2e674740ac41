/**
 * What clients see of a gateway whose backend misbehaves, over HTTP/1.1 and HTTP/2; and the many that see nothing of
 * it.
 */
import { message } from '../backends/http2-faults.ts';
import { answerTo, type FaultOutcome, type FaultRequest } from '../backends/fault-backend.ts';
import { request, type Http2Client, type Http2Response } from './http2-client.ts';
import { connectRaw } from './raw-client.ts';

export type Seen = FaultOutcome | `${number} ${string}`;

const FAULT_ANSWER_MS_MAX = 8_000;

/** The bytes of a request of the matrix; `kind` is `fault` or `good`. */
function requestBytes(version: string, kind: string, { method, id, body }: FaultRequest): string {
  const length = method === 'POST' ? `Content-Length: ${body.length}\r\n` : '';
  return `${method} /a/${version}/${kind}/${id} HTTP/1.1\r\nHost: a\r\n${length}\r\n${body}`;
}

/** One request on a connection of its own that meets the fault. */
export async function meetFault(port: number, faulty: FaultRequest): Promise<Seen> {
  const client = await connectRaw(port);
  try {
    client.write(requestBytes('v1', 'fault', faulty));
    const response = await client.response({ timeoutMs: FAULT_ANSWER_MS_MAX });
    return verdict(response.status, response.body, faulty);
  } catch (error) {
    // The connection has ended before the end of the response that its head announced.
    if (client.received().startsWith('HTTP/1.1 200 ') && String(error).includes('Closed')) return 'cut';
    throw error;
  } finally {
    client.end();
  }
}

/** The same over HTTP/2, where RST_STREAM says that a response is cut off. */
export async function meetFaultHttp2(client: Http2Client, faulty: FaultRequest): Promise<Seen> {
  const { method, id, body } = faulty;
  const response = await ask(client, `/a/v1/fault/${id}`, { method, id, body });
  if (response.status === 200 && response.code !== 0) return 'cut';
  return verdict(response.status, response.body.toString('latin1'), faulty);
}

/** As a unary call of gRPC, whose errors have the status of gRPC. */
export async function meetFaultCall(client: Http2Client, faulty: FaultRequest): Promise<Seen> {
  return callVerdict(await call(client, `/a/v1/fault/${faulty.id}`, faulty), faulty);
}

const STATUSES_OF_CALLS: Readonly<Record<string, 502 | 504>> = { '14': 502, '4': 504 };

function call(client: Http2Client, path: string, { body }: FaultRequest): Promise<Http2Response> {
  const fields = {
    ':method': 'POST',
    ':path': path,
    ':authority': 'localhost',
    'content-type': 'application/grpc',
    te: 'trailers',
  };
  return request(client, fields, { body: message(body) });
}

/** A call is whole with its message and the status in its trailers. */
function callVerdict(response: Http2Response, faulty: FaultRequest): Seen {
  const { status, headers, trailers, body, code } = response;
  if (status === 200 && code !== 0) return 'cut';
  const ownStatus = STATUSES_OF_CALLS[String(headers['grpc-status'])];
  if (ownStatus !== undefined && body.length === 0) return ownStatus;
  if (trailers['grpc-status'] === '0' && body.equals(message(answerTo(faulty)))) return 'whole';
  return `${status} ${JSON.stringify([headers['grpc-status'], trailers, body.toString('latin1')])}`;
}

function ask(client: Http2Client, path: string, { method, body }: FaultRequest): Promise<Http2Response> {
  const fields = { ':method': method, ':path': path, ':authority': 'localhost' };
  if (method !== 'POST') return request(client, fields);
  return request(client, { ...fields, 'content-length': body.length }, { body: Buffer.from(body) });
}

function verdict(status: number, body: string, faulty: FaultRequest): Seen {
  if (status === 200 && body === answerTo(faulty)) return 'whole';
  const isProblem = (status === 502 || status === 504) && body.includes('"code":"upstream_');
  return isProblem ? status : `${status} ${body.slice(0, 200)}`;
}

let lastId = 0;
export function newRequest(method: string): FaultRequest {
  lastId += 1;
  return { method, id: `i${lastId}`, body: method === 'POST' ? `body of i${lastId}` : '' };
}

const CONNECTIONS = 20;
const PIPELINED = 5;

/**
 * As many exchanges as `count` that nothing is wrong with, GET and POST in turn, pipelined on keep-alive connections.
 * @returns those whose answer was not their own
 */
export async function goodExchanges(port: number, count: number): Promise<string[]> {
  const wrong: string[] = [];
  const converse = async (): Promise<void> => {
    const client = await connectRaw(port);
    for (let left = count / CONNECTIONS; left > 0; left -= PIPELINED) {
      const asked = Array.from({ length: PIPELINED }, (_item, index) =>
        newRequest(index % 2 === 0 ? 'GET' : 'POST'),
      );
      client.write(asked.map((each) => requestBytes('v2', 'good', each)).join(''));
      for (const each of asked) {
        const { status, body } = await client.response();
        if (status !== 200 || body !== answerTo(each)) wrong.push(`${each.id}: ${status} ${body}`);
      }
    }
    client.end();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, converse));
  return wrong;
}

/** The same as calls, on one connection. */
export async function goodCalls(client: Http2Client, count: number): Promise<string[]> {
  const all = Array.from({ length: count }, async () => {
    const each = newRequest('POST');
    const seen = callVerdict(await call(client, `/a/v2/good/${each.id}`, each), each);
    return seen === 'whole' ? [] : [`${each.id}: ${seen}`];
  });
  return (await Promise.all(all)).flat();
}

/** The same on one connection of HTTP/2, a few streams at once. */
export async function goodExchangesHttp2(client: Http2Client, count: number): Promise<string[]> {
  const wrong: string[] = [];
  const converse = async (): Promise<void> => {
    for (let left = count / CONNECTIONS; left > 0; left--) {
      const each = newRequest(left % 2 === 0 ? 'GET' : 'POST');
      const response = await ask(client, `/a/v2/good/${each.id}`, each);
      const body = response.body.toString('latin1');
      if (response.status !== 200 || body !== answerTo(each))
        wrong.push(`${each.id}: ${response.status} ${body}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, converse));
  return wrong;
}
