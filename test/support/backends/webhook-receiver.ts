/**
 * A receiver of webhooks: checks each request against Standard Webhooks with code of its own, keeps what it took, and
 * answers as a test says.
 */
import { createHmac } from 'node:crypto';
import type * as http from 'node:http';
import { startOrigin } from './origin.ts';

export interface Delivery {
  readonly id: string;
  readonly event: {
    readonly id: string;
    readonly type: string;
    readonly node: string | null;
    readonly app_id?: string;
    readonly subject: { readonly kind: string; readonly id: string; readonly name: string };
    readonly data: Readonly<Record<string, unknown>>;
  };
  readonly path: string;
  readonly signatures: readonly string[];
  /** Whether the signature number so-and-so was made with this secret. */
  isSignedWith(secret: string, index?: number): boolean;
  readonly headers: http.IncomingHttpHeaders;
}

const LATE_MS = 100;

/** A status, perhaps with header fields; undefined: 204. `never`: no answer; `late`: 204 after a while. */
export type Reply =
  | number
  | 'never'
  | 'late'
  | { readonly status: number; readonly headers: Record<string, string> }
  | undefined;

export interface WebhookReceiver {
  readonly port: number;
  /** Every request, in the order in which they came. */
  readonly all: Delivery[];
  /** Those that were answered with 2xx. */
  readonly taken: Delivery[];
  close(): Promise<void>;
}

export async function startWebhookReceiver(
  reply: (delivery: Delivery) => Reply = () => undefined,
): Promise<WebhookReceiver> {
  const all: Delivery[] = [];
  const taken: Delivery[] = [];
  const origin = await startOrigin((request, response, latin1) => {
    const body = Buffer.from(latin1, 'latin1');
    const delivery = deliveryOf(request, body);
    all.push(delivery);
    const given = reply(delivery);
    if (given === 'never') return;
    const { status, headers } =
      typeof given === 'object'
        ? given
        : { status: typeof given === 'number' ? given : 204, headers: {} as Record<string, string> };
    if (status < 300) taken.push(delivery);
    if (given === 'late') setTimeout(() => response.writeHead(status).end(), LATE_MS);
    else response.writeHead(status, headers).end();
  });
  // What was taken is kept here.
  const seen = setInterval(() => origin.seen.splice(0), 100);
  const close = async (): Promise<void> => {
    clearInterval(seen);
    await origin.close();
  };
  return { port: origin.port, all, taken, close };
}

function deliveryOf(request: http.IncomingMessage, body: Buffer): Delivery {
  const header = (name: string): string => String(request.headers[name] ?? '');
  const id = header('webhook-id');
  const signatures = header('webhook-signature').split(' ');
  return {
    id,
    event: JSON.parse(body.toString('utf8')) as Delivery['event'],
    path: request.url ?? '',
    signatures,
    headers: request.headers,
    isSignedWith(secret, index = 0) {
      const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
      const signed = Buffer.concat([Buffer.from(`${id}.${header('webhook-timestamp')}.`), body]);
      return signatures[index] === `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
    },
  };
}
