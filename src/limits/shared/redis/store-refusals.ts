/**
 * What an error reply of Valkey or Redis says about limits: whether it is about one counter or about the server, and
 * what an operator can do. Pure. A reply begins with its code; Redis 6.2 writes text of the script before the code of
 * a command that the script has called.
 */

/** What a reply is about, and what to do. */
interface Refusal {
  readonly pattern: RegExp;
  /** The server answers for other counters. */
  readonly isOfCounter?: true;
  readonly advice?: string;
}

/** Of one server; `redis+cluster://` follows MOVED by itself. */
const IN_CLUSTER =
  'the server is part of a cluster: GATEWAY_REDIS_URL has to begin with redis+cluster:// or rediss+cluster://';
const OTHER_PROGRAM =
  'another program has written to this key: remove it, and give each program a GATEWAY_LIMITS__KEY_PREFIX or a database of its own';

const REFUSALS: readonly Refusal[] = [
  { pattern: /\bWRONGTYPE\b/, isOfCounter: true, advice: OTHER_PROGRAM },
  // A defect of the content: the script works with every other counter.
  { pattern: /\buser_script:.*\b(?:attempt to|bad argument)\b/, isOfCounter: true, advice: OTHER_PROGRAM },
  { pattern: /^(?:MOVED|ASK|TRYAGAIN)\b/, isOfCounter: true, advice: IN_CLUSTER },
  {
    pattern: /\bREADONLY\b/,
    advice: 'the server is a replica: name the primary in GATEWAY_REDIS_URL, or its Sentinels',
  },
  // A server that wants a password reads no long command before it.
  {
    pattern: /^NOAUTH\b|\bunauthenticated (?:multi)?bulk length\b/,
    advice: 'the server wants a password: put it into GATEWAY_REDIS_URL',
  },
  {
    pattern: /\bNOPERM\b/,
    advice:
      'allow this user EVAL, EVALSHA and the commands of the scripts, for keys with GATEWAY_LIMITS__KEY_PREFIX',
  },
];

/** Whether this is the reply of a server and not the failure of a connection. */
export function isReply(text: string): boolean {
  return /^[A-Z]{3,}\b/.test(text);
}

/** The reply is that of a server without memory, which refuses everything that writes. */
export function isOutOfMemory(reply: string): boolean {
  return /\bOOM command not allowed\b/.test(reply);
}

/** Whether the server refuses this counter alone. @param reply text of an error reply */
export function isOfCounter(reply: string): boolean {
  return refusalOf(reply)?.isOfCounter === true;
}

/**
 * The reply with what to do about it, where that is known.
 * @param key name of the counter; added where the reply is about it alone
 */
export function refusalText(reply: string, key: string): string {
  const refusal = refusalOf(reply);
  if (refusal?.advice === undefined) return reply;
  const about = refusal.isOfCounter === true ? ` (${key})` : '';
  return `${reply}${about}; ${refusal.advice}`;
}

function refusalOf(reply: string): Refusal | undefined {
  return REFUSALS.find(({ pattern }) => pattern.test(reply));
}
