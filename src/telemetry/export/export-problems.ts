/**
 * Says in one line why a collector did not accept an export, and what to do about it, where its answer or the error
 * of the connection tells that. Of the body of an answer, only a message for operators is repeated (OTLP 1.x,
 * "OTLP/HTTP Response": google.rpc.Status): anything else may be in other bodies. Pure.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { CERTIFICATE_REQUIRED, connectionText, NOT_TLS, systemCode } from '../../lib/error-message.ts';
import { cut } from '../../observe/cut.ts';
import { statusMessage } from '../otlp/collector-answer.ts';
import type { Signal } from './export-messages.ts';

const PROBLEM_CHARS_MAX = 300;
const OTLP_TYPE = /^application\/(?:x-protobuf|json)\b/i;
/** How servers in Go, and nginx, answer to a request without TLS on a port with TLS. */
const NEEDS_TLS = /\bto (?:an )?HTTPS (?:server|port)\b/;

interface Answered {
  readonly status: number;
  readonly answer: Uint8Array;
  readonly fields: IncomingHttpHeaders;
}

/** The export that was answered. */
interface Asked {
  readonly signal: Signal;
  /** The complete URL. */
  readonly url: string;
  readonly isCompressed: boolean;
}

/**
 * Whether a page for a browser was answered, as by a login page or by another program at this URL, which has not
 * accepted an export even if its status is 200.
 */
export function isWebPage({ answer, fields }: Answered): boolean {
  const start = Buffer.from(answer.subarray(0, 64)).toString('latin1').trimStart();
  return /^text\/html\b/i.test(fields['content-type'] ?? '') && start.startsWith('<');
}

/** Why an answer does not mean that the export was accepted. */
export function problemOfStatus(answered: Answered, asked: Asked): string {
  const { status, answer, fields } = answered;
  const type = fields['content-type'] ?? '';
  const message = OTLP_TYPE.test(type) ? statusMessage(answer, type).trim() : '';
  const advice = adviceFor(answered, asked);
  const texts = [`the collector answers ${status}`, message, advice].filter((text) => text !== '');
  return shortProblem(texts.join(': '));
}

function adviceFor(answered: Answered, { signal, url, isCompressed }: Asked): string {
  const { status, answer, fields } = answered;
  const endpoint = `GATEWAY_OTEL__${signal.toUpperCase()}_ENDPOINT`;
  if (status >= 300 && status < 400) {
    const target = targetOf(fields.location, url);
    const where = target === undefined ? '' : `: set the whole URL ${target} in ${endpoint}`;
    return `redirects are not followed${where}`;
  }
  if (isWebPage(answered) && status < 300) return `with a web page, so it accepts no ${signal} at this URL`;
  switch (status) {
    case 400:
      return NEEDS_TLS.test(Buffer.from(answer).toString('latin1'))
        ? 'its port has TLS, so the URL must begin with https://'
        : '';
    case 401:
    case 403:
      return 'check GATEWAY_OTEL__HEADERS and the client certificate';
    case 404:
    case 405:
      return `it accepts no ${signal} at this path. /v1/${signal} is added to GATEWAY_OTEL__ENDPOINT, and nothing to ${endpoint}`;
    case 411:
      // Only compressed exports are sent without their length.
      return isCompressed
        ? 'it accepts only exports without compression (GATEWAY_OTEL__COMPRESSION=none)'
        : '';
    case 415:
      return isCompressed
        ? 'it may accept only exports without compression (GATEWAY_OTEL__COMPRESSION=none)'
        : 'it may accept only compressed exports (GATEWAY_OTEL__COMPRESSION=gzip)';
    default:
      return '';
  }
}

/** The target of a redirect, without what may be secret in it. */
function targetOf(location: string | undefined, url: string): string | undefined {
  if (location === undefined || !URL.canParse(location, url)) return undefined;
  const { origin, pathname } = new URL(location, url);
  return origin === 'null' ? undefined : `${origin}${pathname}`;
}

/** Why there was no answer. */
export function problemOfError(error: Error): string {
  const code = systemCode(error);
  if (code.startsWith('HPE_')) {
    return 'the collector does not answer in HTTP/1.1: if its port is for gRPC, such as 4317, take the one for OTLP over HTTP, such as 4318';
  }
  const [first] = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [];
  const own = error.message && connectionText(error, 'GATEWAY_OTEL__CA_FILE');
  const text = own || (first instanceof Error ? first.message : '') || code || 'the export failed';
  const advice = ADVICE.find(([reason]) => text.endsWith(reason))?.[1];
  return shortProblem(advice === undefined ? text : `${text}: ${advice}`);
}

const ADVICE = [
  [CERTIFICATE_REQUIRED, 'set GATEWAY_OTEL__CLIENT_CERT_FILE and GATEWAY_OTEL__CLIENT_KEY_FILE'],
  [NOT_TLS, 'its URL may have to begin with http://'],
] as const;

export const shortProblem = (text: string): string => cut(text, PROBLEM_CHARS_MAX);
