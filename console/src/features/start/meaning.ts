/** The meaning of the answer to a test request, for readers who see the gateway for the first time. Pure. */
import type { TryOutcome } from '../../api/schema.ts';
import { quoted } from '../save/shell-words.ts';

export type Meaning =
  | 'works'
  /** 401 to a request without the required key. */
  | 'refused as meant'
  | 'refused'
  | 'backend away'
  | 'backend refuses'
  | 'no answer';

/** Codes of answers in place of a backend, in addition to those that begin with a word for it. */
const AWAY: ReadonlySet<string> = new Set(['circuit_open', 'no_targets']);

/** @param lacksKey the request was sent without the key that the app asks for */
export function meaningOf(
  { status, denial }: Pick<TryOutcome, 'status' | 'denial'>,
  lacksKey: boolean,
): Meaning {
  if (status === null) return 'no answer';
  const code = denial?.code ?? null;
  if (code === null) return status < 400 ? 'works' : 'backend refuses';
  if (code.startsWith('upstream_') || AWAY.has(code)) return 'backend away';
  return lacksKey && status === 401 ? 'refused as meant' : 'refused';
}

/**
 * A command for a shell, with the most likely address of the proxy for the reader's machine: the host by which
 * the console was reached.
 * @param url URL that the gateway has sent the request to
 * @param key key that was sent; empty: none
 */
export function curlText(url: string, key: string, host: string): string {
  const target = new URL(url);
  target.hostname = host;
  // Without this option, curl makes many requests of a path such as /[1-9999].
  const options = /[[\]{}]/.test(target.pathname + target.search) ? '-i -g' : '-i';
  return [
    `curl ${options} ${quoted(target.href)}`,
    ...(key === '' ? [] : [`-H ${quoted(`Authorization: Bearer ${key}`)}`]),
  ].join(' \\\n  ');
}

/** Formatted JSON; other texts unchanged. */
export function readableBody(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
