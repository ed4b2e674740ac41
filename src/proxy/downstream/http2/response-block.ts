/**
 * Turns response heads of the engine, which are HTTP/1.1 text, into HTTP/2 header sections (RFC 9113 section 8.3.2):
 * with names in lower case, and without connection-specific fields (section 8.2.2). Names are encoded once; owns the
 * encoded names.
 */
import { CONNECTION_FIELDS } from '../../../http/fields/field-lists.ts';
import { encodeName, encodeStatus, encodeText } from '../../../http/http2/hpack/encoder.ts';
import { FIELD_TEXT, isBlank, isToken } from '../../../http/characters.ts';

export interface ResponseBlock {
  readonly status: number;
  /** Encoded fields. */
  readonly block: string;
  /** -1 if the head has no length. */
  readonly contentLength: number;
}

/** RFC 9110 section 15.3.6: 205 has no content, whatever a backend sends. */
export const RESET_CONTENT = '205';
const NAMES_MAX = 1_024;
const STATUS_LINE_START = 'HTTP/1.1 ';
const STATUS_AT = STATUS_LINE_START.length;

/** Encoded names by their spelling in lines; '' for connection-specific fields. */
const names = new Map<string, string>();

/**
 * The head in `text[from, to)`, from its status line to the CRLF of its last line; undefined for a text that is no
 * head, which is a defect of the gateway.
 */
export function responseBlock(text: string, from: number, to: number): ResponseBlock | undefined {
  const head = from === 0 && to === text.length ? text : text.slice(from, to);
  if (!head.startsWith(STATUS_LINE_START)) return undefined;
  const status = head.slice(STATUS_AT, STATUS_AT + 3);
  const facts = { contentLength: -1, hasContent: status !== RESET_CONTENT };
  const fields = encodeLines(head, head.indexOf('\r\n') + 2, facts);
  if (fields === undefined) return undefined;
  return { status: Number(status), block: encodeStatus(status) + fields, contentLength: facts.contentLength };
}

/** Trailers: lines that each end in CRLF. undefined for other text. */
export function trailersBlock(lines: string): string | undefined {
  return encodeLines(lines, 0, { contentLength: -1, hasContent: true });
}

interface Facts {
  contentLength: number;
  /** False: the length is omitted, because a client would expect that much content. */
  readonly hasContent: boolean;
}

function encodeLines(text: string, start: number, facts: Facts): string | undefined {
  let block = '';
  for (let from = start; from < text.length;) {
    const end = text.indexOf('\r\n', from);
    const colon = text.indexOf(':', from);
    if (end < 0 || colon < 0 || colon >= end) return undefined;
    const name = text.slice(from, colon);
    const encoded = names.get(name) ?? learn(name);
    if (encoded === undefined) return undefined;
    const value = valueIn(text, colon + 1, end);
    if (value === undefined) return undefined;
    from = end + 2;
    if (encoded === '') continue;
    if (encoded === CONTENT_LENGTH) {
      facts.contentLength = Number(value);
      if (!facts.hasContent) continue;
    }
    block += encoded + encodeText(value);
  }
  return block;
}

/**
 * The value without surrounding white space (RFC 9113 section 8.2.1); undefined when it has a character that
 * the strict response parsers never accept.
 */
function valueIn(text: string, start: number, end: number): string | undefined {
  let from = start;
  let to = end;
  for (let at = start; at < end; at++) if (FIELD_TEXT[text.charCodeAt(at)] !== 1) return undefined;
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

/** The encoded name, up to the value; undefined when the text is not a name. */
function learn(name: string): string | undefined {
  if (!isToken(name)) return undefined;
  const lowerName = name.toLowerCase();
  const encoded = CONNECTION_FIELDS.has(lowerName) ? '' : encodeName(lowerName);
  if (names.size >= NAMES_MAX) names.clear();
  // A copy: a slice would keep the whole text alive.
  names.set(Buffer.from(name, 'latin1').toString('latin1'), encoded);
  return encoded;
}

const CONTENT_LENGTH = encodeName('content-length');
