/** Calls of the management API of a running gateway, for commands. A refusal becomes a `CliError` with all it says. */
import { CliError, type CliIo } from './io.ts';

export interface ServerFlags {
  readonly server?: string;
  readonly token?: string;
}

export interface GatewayClient {
  readonly server: string;
  /** @returns `data` of the answer */
  call(method: 'GET' | 'POST', path: string, body?: unknown): Promise<unknown>;
}

/** One wrong field, as a problem document (RFC 9457) lists it. */
export interface RemoteFieldError {
  readonly pointer: string;
  readonly detail: string;
}

/** The gateway refused a call. */
export class RefusedCall extends CliError {
  readonly status: number;
  readonly errors: readonly RemoteFieldError[];
  constructor(status: number, message: string, errors: readonly RemoteFieldError[]) {
    super(message);
    this.status = status;
    this.errors = errors;
  }
}

const SERVER_DEFAULT = 'http://127.0.0.1:9090';
/** An apply of 100,000 endpoints takes seconds. */
const TIMEOUT_MS = 120_000;

export function createClient(flags: ServerFlags, io: CliIo): GatewayClient {
  const server = (flags.server ?? io.env('HEADGATE_SERVER') ?? SERVER_DEFAULT).replace(/\/$/, '');
  const token = flags.token ?? io.env('HEADGATE_TOKEN');
  if (token === undefined || token === '') {
    throw new CliError('An admin token is needed: pass --token, or set HEADGATE_TOKEN');
  }
  return {
    server,
    async call(method, path, body) {
      const response = await send(`${server}/api/v1${path}`, method, token, body);
      const text = await response.text();
      const parsed = parse(text);
      if (response.ok) return parsed?.['data'];
      const detail = parsed?.['detail'];
      const errors = Array.isArray(parsed?.['errors']) ? (parsed['errors'] as RemoteFieldError[]) : [];
      const message =
        typeof detail === 'string' ? detail : `${method} ${path} was answered with ${response.status}`;
      throw new RefusedCall(response.status, message, errors);
    },
  };
}

async function send(url: string, method: string, token: string, body: unknown): Promise<Response> {
  try {
    return await fetch(url, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    const { cause } = error as { readonly cause?: { readonly code?: unknown } };
    const why =
      typeof cause?.code === 'string' ? cause.code : error instanceof Error ? error.message : String(error);
    throw new CliError(`Cannot reach the gateway at ${new URL(url).origin}: ${why}`);
  }
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
