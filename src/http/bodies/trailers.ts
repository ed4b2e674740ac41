/**
 * Which trailer fields may be forwarded (RFC 9110 section 6.5.1): none that frames or routes a message, modifies the
 * request, authenticates, or describes the content. A recipient that merged such a field into the head would act on a
 * value that no stage of the gateway has checked. Names are compared as `foldedName` gives them, because the recipient
 * may read another spelling as the same name.
 */
import { foldedName } from '../../lib/folded-name.ts';
import { TrailerSection } from '../heads/field-section.ts';
import type { HeadError } from '../heads/head-error.ts';
import { HeaderKind, headerKindOf } from '../heads/header-kind.ts';

/** Limit of the fields in a trailer section. */
const TRAILERS_MAX = 64;

const forbidden: ReadonlySet<string> = new Set([
  'age',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-location',
  'content-range',
  'content-type',
  'cookie',
  'expires',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'location',
  'max-forwards',
  'pragma',
  'range',
  'retry-after',
  'set-cookie',
  'vary',
  'warning',
  'www-authenticate',
]);

/**
 * The forwardable lines of the trailers in `text` (each with its CRLF), as `Name: value` CRLF; undefined when none is
 * left, an error when the section is malformed.
 */
export function forwardableTrailers(text: string): string | undefined | HeadError {
  const section = new TrailerSection();
  const error = section.parse(text, TRAILERS_MAX);
  if (error !== undefined) return error;
  let lines = '';
  for (let index = 0; index < section.count; index++) {
    if (section.kind(index) !== HeaderKind.ordinary) continue;
    if (!isForbidden(section.name(index))) lines += section.line(index);
  }
  return lines === '' ? undefined : lines;
}

/** Whether a trailer of this name may be passed on. */
export function mayBeTrailer(name: string): boolean {
  return headerKindOf(name) === HeaderKind.ordinary && !isForbidden(name);
}

function isForbidden(name: string): boolean {
  return forbidden.has(foldedName(name));
}

/**
 * Lines, each `Name: value` and CRLF, without those of these names.
 * @param names as `foldedName` gives them
 */
export function linesWithout(lines: string, names: ReadonlySet<string>): string {
  let kept = '';
  for (let from = 0; from < lines.length;) {
    const end = lines.indexOf('\r\n', from) + 2;
    if (!names.has(foldedName(lines.slice(from, lines.indexOf(':', from))))) kept += lines.slice(from, end);
    from = end;
  }
  return kept;
}

/** The names of such lines, as `foldedName` gives them. */
export function namesOfLines(lines: string): ReadonlySet<string> {
  return new Set(lines.split('\r\n').map((line) => foldedName(line.slice(0, line.indexOf(':')))));
}
