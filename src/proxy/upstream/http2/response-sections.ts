/**
 * Reads the header sections of a connection's responses (RFC 9113 section 8.3.2): heads are written as heads of
 * HTTP/1.1 for the strict parser of responses, so that the rest of the gateway sees one kind of head. Framing that
 * HTTP/2 does not state is added: a response with content of unknown length is chunked, one that ends with its head is
 * empty.
 *
 * Backends send the same section again and again, most of it as references to tables: while the table of the decoder
 * stays as it is, the same bytes are the same fields, and are neither decoded nor parsed a second time. Owns the
 * decoder and the sections that were seen.
 */
import { forwardableTrailers } from '../../../http/bodies/trailers.ts';
import type { HeadError } from '../../../http/heads/head-error.ts';
import { ResponseHead } from '../../../http/heads/response-head.ts';
import type { BackendHead } from '../../interfaces/head-templates.ts';
import { HpackDecoder } from '../../../http/http2/hpack/decoder.ts';
import type { FieldLine } from '../../../http/http2/hpack/field-line.ts';
import { latin1Text } from '../../../http/latin1.ts';
import { RESPONSE_HEAD_BYTES_MAX, RESPONSE_HEADERS_MAX } from '../../options.ts';
import type { UpstreamFailure } from '../upstream-failure.ts';
import { malformed } from './stream-failure.ts';

/** The announced SETTINGS_MAX_HEADER_LIST_SIZE. */
export const LIST_BYTES_MAX = 2 * RESPONSE_HEAD_BYTES_MAX;
/** One line is added for the framing that HTTP/2 does not state. */
const RESPONSE_LIMITS = { maxHeaders: RESPONSE_HEADERS_MAX + 1 };
/** Limits of the cached sections: their number, and the encoded size of each. */
const KEPT_MAX = 16;
const KEPT_BYTES_MAX = 512;
/** After this many sections without a repetition, only every few sections are cached, as a trial. */
const MISSES_MAX = 8;
const TRIED_EVERY = 16;

/** The line that is added to a head. */
const ADDED = {
  none: '',
  empty: 'content-length: 0\r\n',
  chunked: 'transfer-encoding: chunked\r\n',
} as const;
type Added = keyof typeof ADDED;

export interface Section {
  /** '' for a section without a status: trailers. */
  readonly status: string;
  /** The lines of its fields. */
  readonly lines: string;
  readonly hasLength: boolean;
  /** Why the section cannot be used. */
  readonly failure: UpstreamFailure | undefined;
  /** Whether it has occurred before; it then has a parser of its own. */
  isRepeated: boolean;
  readonly heads: Partial<Record<Added, ParsedHead>>;
  /** Set once they were requested. */
  trailers?: string | UpstreamFailure;
}

interface ParsedHead {
  readonly bytes: Buffer;
  readonly head: BackendHead;
}

const MALFORMED_HEAD = malformed('The header section of the response is malformed.');
const MALFORMED_TRAILERS = malformed('The trailer section of the response is malformed.');
const TOO_LARGE: UpstreamFailure = { cause: 'bad_response', fault: 'head_too_large' };

export class ResponseSections {
  readonly #decoder = new HpackDecoder({ listBytesMax: LIST_BYTES_MAX, fieldsMax: 2 * RESPONSE_HEADERS_MAX });
  /** Parses heads that have not occurred before. */
  readonly #head: BackendHead = new ResponseHead();
  readonly #kept = new Map<string, Section>();
  /** The generation of the decoder when they were cached. */
  #generation = 0;
  #misses = 0;

  /** The section in `block[from, to)`; undefined if its encoding is broken, and with it the connection. */
  read(block: Buffer, from: number, to: number): Section | undefined {
    const isShort = to - from <= KEPT_BYTES_MAX;
    const kept = this.#kept;
    if (kept.size > 0 && isShort) {
      const known = kept.get(latin1Text(block, from, to));
      if (known !== undefined) {
        this.#misses = 0;
        known.isRepeated = true;
        return known;
      }
    }
    if (!this.#decoder.decode(block, from, to)) return undefined;
    const section = sectionOf(this.#decoder.fields, this.#decoder.isTooLong);
    this.#decoder.release();
    const hasChanged = this.#decoder.generation !== this.#generation;
    if (hasChanged) {
      kept.clear();
      this.#generation = this.#decoder.generation;
    }
    this.#misses += 1;
    // The same bytes would mean another section after a change of the table.
    const isWorthIt = this.#misses <= MISSES_MAX || this.#misses % TRIED_EVERY === 0;
    if (hasChanged || !isShort || !isWorthIt || section.failure !== undefined) return section;
    if (kept.size >= KEPT_MAX) kept.clear();
    kept.set(latin1Text(block, from, to), section);
    return section;
  }

  /** @param endStream whether the response consists of the section only */
  headOf(section: Section, method: string, endStream: boolean): BackendHead | UpstreamFailure {
    const { status, hasLength } = section;
    if (section.failure !== undefined) return section.failure;
    if (status.length !== 3) return MALFORMED_HEAD;
    const needsNone = hasLength || isBodiless(status) || method === 'HEAD';
    const added = needsNone ? 'none' : endStream ? 'empty' : 'chunked';
    const known = section.heads[added];
    if (known !== undefined) {
      const { bytes, head } = known;
      return failureOf(head.parseBytes(bytes, 0, bytes.length, method, RESPONSE_LIMITS)) ?? head;
    }
    const text = `HTTP/1.1 ${status} \r\n${section.lines}${ADDED[added]}`;
    if (text.length > RESPONSE_HEAD_BYTES_MAX) return TOO_LARGE;
    const head: BackendHead = section.isRepeated ? new ResponseHead() : this.#head;
    const failure = failureOf(head.parse(text, method, RESPONSE_LIMITS));
    if (failure !== undefined) return failure;
    if (section.isRepeated) section.heads[added] = { bytes: Buffer.from(text, 'latin1'), head };
    return head;
  }

  /** The trailers to forward, as lines that each end in CRLF. */
  trailersOf(section: Section): string | UpstreamFailure {
    return (section.trailers ??= readTrailers(section));
  }
}

/** Statuses whose responses have no content, whatever their fields say. */
function isBodiless(status: string): boolean {
  return status === '204' || status === '304' || status < '200';
}

/** RFC 9113 section 8.3: `:status` comes first, and no other pseudo-field is allowed. */
function sectionOf(fields: readonly FieldLine[], isTooLong: boolean): Section {
  let status = '';
  let lines = '';
  let hasLength = false;
  let failure = isTooLong ? TOO_LARGE : undefined;
  for (const [index, { kind, name, value, line }] of fields.entries()) {
    if (kind === 'length') hasLength = true;
    if (kind === 'pseudo' && index === 0 && name === ':status' && value !== '') status = value;
    else if (line === '') failure ??= MALFORMED_HEAD;
    else lines += line;
  }
  return { status, lines, hasLength, failure, isRepeated: false, heads: {} };
}

function readTrailers({ failure, status, lines }: Section): string | UpstreamFailure {
  if (failure !== undefined || status !== '') return MALFORMED_TRAILERS;
  if (lines.length > RESPONSE_HEAD_BYTES_MAX) return MALFORMED_TRAILERS;
  const kept = lines === '' ? undefined : forwardableTrailers(lines);
  return typeof kept === 'object' ? malformed(kept.detail) : (kept ?? '');
}

function failureOf(error: HeadError | undefined): UpstreamFailure | undefined {
  return error === undefined ? undefined : malformed(error.detail);
}
