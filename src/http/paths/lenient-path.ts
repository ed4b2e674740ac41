/**
 * How a lenient backend may read a path: what servers, frameworks and file systems are known to do with a path before
 * they look up what it names. Not for forwarding or routing, which use the canonical path (canonical-path.ts); only to
 * find out what else a path could mean.
 *
 * It decodes percent-encodings repeatedly, including encoded slashes; folds compatibility characters (full-width
 * slashes, dots and letters) and case, including letters beyond ASCII that fold into ASCII; drops characters that file
 * systems and URL parsers ignore; ends the path at "?", "#" and NUL; removes path parameters, white space, control
 * characters and trailing dots from segments; drops empty segments; resolves dot segments; and treats backslashes, and
 * characters that Windows converts to slashes, as slashes. It does not cover what single frameworks add, such as
 * extensions ("/report.json" for "/report").
 */

/** Each round removes one layer of encoding, so that every layer is checked; the last round removes all that remain. */
const DECODE_ROUNDS_MAX = 4;
const NOT_PLAIN = /[A-Z;%]|\.(?:\/|$)|[^]\/$/;

/**
 * Whether `lenientPath` would not change a canonical path. Cheap enough for every request; may return false for a path
 * that it would not change.
 */
export function isPlainPath(path: string): boolean {
  return !NOT_PLAIN.test(path);
}

/**
 * @param path canonical, or a part of a canonical path that begins with a slash
 * @returns text for comparison; must not be sent
 */
export function lenientPath(path: string): string {
  let text = path;
  for (let round = 0; round <= DECODE_ROUNDS_MAX; round++) {
    const next = round < DECODE_ROUNDS_MAX ? decodedOnce(text) : decodedWhole(text);
    if (next === text) break;
    text = next;
  }
  const segments: string[] = [];
  for (const segment of segmentsOf(text)) {
    if (segment === '..') segments.pop();
    else {
      const name = foldCase(segment.slice(0, nameEnd(segment)));
      if (name !== '') segments.push(name);
    }
  }
  return `/${segments.join('/')}`;
}

/**
 * Whether a backend that decodes the path once or several times more than it should would find dot segments in it that
 * lead above its start. Every layer of encoding is checked: slashes that only a deeper layer shows would hide the
 * climb.
 * @param path canonical, or a part of a canonical path that begins with a slash
 */
export function climbsOut(path: string): boolean {
  let text = path;
  for (let round = 0; round <= DECODE_ROUNDS_MAX; round++) {
    const next = round < DECODE_ROUNDS_MAX ? decodedOnce(text) : decodedWhole(text);
    if (next === text) return false;
    text = next;
    if (!MAYBE_DOTS.test(text)) continue;
    let depth = 0;
    for (const segment of segmentsOf(text)) {
      if (segment === '..') depth--;
      else if (nameEnd(segment) > 0) depth++;
      if (depth < 0) return true;
    }
  }
  return false;
}

// oxlint-disable-next-line no-control-regex -- NUL is one of the characters that end a path
const END = /[?#\0]/;
/** A dot, or any character that folding may make one of. */
// oxlint-disable-next-line no-control-regex -- everything but ASCII
const MAYBE_DOTS = /[.]|[^\x00-\x7f]/;
/** No text of any language has this many marks in a row (Unicode Standard Annex 15, "Stream-Safe Text Format"). */
const MANY_MARKS = /[\p{M}\uff9e\uff9f]{30}/gu;
/**
 * Characters without a glyph, which HFS+ ignores in names, among them the joiner that `folded` inserts; and characters
 * that URL parsers drop everywhere (WHATWG URL, "basic URL parser").
 */
const IGNORED = /[\p{Default_Ignorable_Code_Point}\t\n\r]/gu;
const JOINER = '\u034f';
/**
 * Backslash, and the characters that Windows converts to "/" or "\" when a program asks for its path in a code page.
 */
const SLASHES = /[\\\u2044\u2215\u2216]/g;
/** White space, and control characters, which some languages count among it. */
// oxlint-disable-next-line no-control-regex -- control characters are meant
const SPACE = /[\s\0-\x1f\x7f-\x9f]/;
const DOT = 0x2e;

/** The segments, including empty ones, without path parameters and surrounding white space. */
function segmentsOf(decoded: string): string[] {
  const text = folded(decoded).replace(SLASHES, '/');
  const end = text.search(END);
  return (end < 0 ? text : text.slice(0, end)).split('/').map((segment) => {
    const parameter = segment.indexOf(';');
    return segment.slice(nameStart(segment), spaceStart(segment, parameter < 0 ? segment.length : parameter));
  });
}

/** Normalisation sorts consecutive marks in quadratic time, so long runs are interrupted. */
function folded(text: string): string {
  return text.replace(MANY_MARKS, `$&${JOINER}`).normalize('NFKC').replace(IGNORED, '');
}

/** Upper case first: "ı" and "ſ" are already lower-case, but some comparisons turn them into "I" and "S". */
function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase().replaceAll('i\u0307', 'i');
}

/** The end of leading white space. */
function nameStart(segment: string): number {
  let start = 0;
  while (start < segment.length && SPACE.test(segment.charAt(start))) start++;
  return start;
}

/** The start of the white space before `end`. */
function spaceStart(segment: string, end: number): number {
  let start = end;
  while (start > 0 && SPACE.test(segment.charAt(start - 1))) start--;
  return start;
}

/** The start of trailing dots and white space. */
function nameEnd(segment: string): number {
  let end = segment.length;
  while (end > 0 && (segment.charCodeAt(end - 1) === DOT || SPACE.test(segment.charAt(end - 1)))) end--;
  return end;
}

/** Removes one layer of encoding; returns the same text when there is none. */
function decodedOnce(text: string): string {
  if (!text.includes('%')) return text;
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  const octets = bytes.replace(/%([0-9A-Fa-f]{2})/g, (_all, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
  return octets === bytes ? text : Buffer.from(octets, 'latin1').toString('utf8');
}

/** Removes all remaining layers of encoded percent signs. */
function decodedWhole(text: string): string {
  return decodedOnce(text.replace(/%(?:25)+/g, '%'));
}
