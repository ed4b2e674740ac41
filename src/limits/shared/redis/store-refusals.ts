/**
 * What an error reply of Valkey or Redis says about limits, and what an operator can do. Pure. A reply begins with its
 * code; Redis 6.2 writes text of the script before the code of a command that the script has called.
 */

/** What a reply is about, and what to do. */
interface Refusal {
  readonly pattern: RegExp;
  /** It is about the key, which is named. */
  readonly isOfKey?: true;
  readonly advice?: string;
}

/** Of one server; `redis+cluster://` follows MOVED by itself. */
const IN_CLUSTER =
  'the server is part of a cluster: GATEWAY_REDIS_URL has to begin with redis+cluster:// or rediss+cluster://';
const OTHER_PROGRAM =
  'another program has written to this key: remove it, and give each program a GATEWAY_LIMITS__KEY_PREFIX or a database of its own';

/** Whatever is there may answer at any length. */
const REPLY_CHARS_MAX = 500;

const REFUSALS: readonly Refusal[] = [
  { pattern: /\bWRONGTYPE\b/, isOfKey: true, advice: OTHER_PROGRAM },
  // A defect of the content: the script works with every other counter.
  { pattern: /\buser_script:.*\b(?:attempt to|bad argument)\b/, isOfKey: true, advice: OTHER_PROGRAM },
  // `redis+cluster://` asks as soon as the server has a slot (redis-client.ts).
  {
    pattern: /^ASK \S+, which has no slot yet/,
    isOfKey: true,
    advice: 'the cluster is moving its slot there',
  },
  { pattern: /^(?:MOVED|ASK|TRYAGAIN)\b/, isOfKey: true, advice: IN_CLUSTER },
  {
    pattern: /^CLUSTERDOWN Hash slot not served/,
    isOfKey: true,
    advice: 'no server of the cluster has its slot: look at CLUSTER INFO',
  },
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

/**
 * The reply with what to do about it, where that is known.
 * @param key name of the counter
 */
export function refusalText(reply: string, key: string): string {
  const refusal = refusalOf(reply);
  const start = reply.length > REPLY_CHARS_MAX ? `${reply.slice(0, REPLY_CHARS_MAX)}…` : reply;
  if (refusal?.advice === undefined) return start;
  const about = refusal.isOfKey === true ? ` (${key})` : '';
  return `${start}${about}; ${refusal.advice}`;
}

function refusalOf(reply: string): Refusal | undefined {
  return REFUSALS.find(({ pattern }) => pattern.test(reply));
}
