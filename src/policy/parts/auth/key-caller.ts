/**
 * The caller behind an API key. Where more keys are in use than a worker has callers of, this is made for every request,
 * so that of a plain key its header lines are put together as bytes and become one text, of which id and name are parts:
 * texts that are put together of others cost as much again when they are written.
 *
 * Owns the forms of lists of scopes, a bounded number.
 */
import { latin1Text } from '../../../http/latin1.ts';
import type { PlainKey } from '../../../keys/plain-key.ts';
import type { PresentedKey } from '../../../keys/presented-key.ts';
import { fieldLine, scopesLine } from '../../caller.ts';
import type { Caller } from '../../stage.ts';

const ID_NAME = 'X-Headgate-Key-Id';
const NAME_NAME = 'X-Headgate-Key-Name';
const SCOPE_FORMS_MAX = 1024;

/** A list of scopes as stages ask for it, and as the upstream is told. */
interface ScopeForms {
  readonly held: ReadonlySet<string>;
  readonly line: string;
  readonly lineBytes: Buffer;
}

/** Forms of lists that were given lately: keys with equal scopes mostly have one list. */
const scopeForms = new Map<readonly string[], ScopeForms>();

function formsOf(scopes: readonly string[]): ScopeForms {
  const known = scopeForms.get(scopes);
  if (known !== undefined) return known;
  const line = scopesLine(scopes);
  const forms = { held: new Set(scopes), line, lineBytes: Buffer.from(line, 'latin1') };
  if (scopeForms.size >= SCOPE_FORMS_MAX) scopeForms.clear();
  scopeForms.set(scopes, forms);
  return forms;
}

/** Not frozen, which costs as much as the rest. */
export function callerOfKey({ id, name, rateLimit, scopes }: PresentedKey): Caller {
  const { held, line } = formsOf(scopes);
  return {
    kind: 'api_key',
    id,
    name,
    scopes: held,
    claims: undefined,
    keyRateLimit: rateLimit,
    upstreamHeaderLines: fieldLine(ID_NAME, id) + fieldLine(NAME_NAME, name) + line,
    countedIn: 0,
  };
}

const ID_FROM = `${ID_NAME}: `.length;
const ID_CHARS = 36;
const ID_BYTES = 16;
const ID_TO = ID_FROM + ID_CHARS;
const NAME_FROM = `${ID_NAME}: \r\n${NAME_NAME}: `.length + ID_CHARS;
/** Longer names, or lists of scopes, are put together as texts. */
const NAME_BYTES_MAX = 512;
const SCOPES_BYTES_MAX = 2048;
const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const PERCENT = 0x25;
const DIGITS = Buffer.from('0123456789abcdef', 'latin1');

// The lines that are being written; what stands before the name is the same in all of them, but for the id.
const lines = Buffer.alloc(NAME_FROM + NAME_BYTES_MAX + 2 + SCOPES_BYTES_MAX);
lines.write(`${ID_NAME}: 00000000-0000-0000-0000-000000000000\r\n${NAME_NAME}: `, 'latin1');

/** The same of a plain key; undefined when its name has to be encoded, or a text is long. */
export function callerOfPlainKey(key: PlainKey): Caller | undefined {
  const { bytes, nameFrom, nameTo } = key;
  const { held, lineBytes } = formsOf(key.scopes);
  const nameEnd = NAME_FROM + nameTo - nameFrom;
  if (nameTo - nameFrom > NAME_BYTES_MAX || lineBytes.length > SCOPES_BYTES_MAX) return undefined;
  // As `fieldText` has it: no `%`, and no space at an end, nor a name of nothing.
  if (nameTo === nameFrom || bytes[nameFrom] === SPACE || bytes[nameTo - 1] === SPACE) return undefined;
  for (let from = nameFrom, to = NAME_FROM; from < nameTo; from++, to++) {
    const byte = bytes[from] as number;
    if (byte === PERCENT) return undefined;
    lines[to] = byte;
  }
  writeId(bytes, key.idAt * 4);
  lines[nameEnd] = CR;
  lines[nameEnd + 1] = LF;
  const scopesAt = nameEnd + 2;
  for (let index = 0; index < lineBytes.length; index++) lines[scopesAt + index] = lineBytes[index] as number;
  const text = latin1Text(lines, 0, scopesAt + lineBytes.length);
  return {
    kind: 'api_key',
    id: text.slice(ID_FROM, ID_TO),
    name: text.slice(NAME_FROM, nameEnd),
    scopes: held,
    claims: undefined,
    keyRateLimit: null,
    upstreamHeaderLines: text,
    countedIn: 0,
  };
}

function writeId(bytes: Buffer, from: number): void {
  for (let index = 0, at = ID_FROM; index < ID_BYTES; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) at++;
    const byte = bytes[from + index] as number;
    lines[at++] = DIGITS[byte >> 4] as number;
    lines[at++] = DIGITS[byte & 0xf] as number;
  }
}
