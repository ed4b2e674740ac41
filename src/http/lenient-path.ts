/**
 * How a lenient backend may read a path: what servers, frameworks and file systems are known to make of one before
 * they look for what it names. Not for forwarding and not for routing, which know one canonical path
 * (canonical-path.ts); only to find out what else a path could be taken for.
 *
 * It decodes percent-encodings again and again, also encoded slashes; folds compatibility characters (full-width
 * slashes, dots and letters) and case, also of letters beyond ASCII that fold into ASCII; drops characters that file
 * systems and parsers of URLs ignore; ends the path at "?", "#" and NUL; cuts path parameters, white space, control
 * characters and trailing dots off segments, and drops empty ones; resolves dot segments; takes backslashes, and what
 * Windows makes a slash of, for slashes. What only some framework adds, such as
 * extensions ("/report.json" for "/report"), it does not know.
 */

/** Each round takes off one layer of encoding, so that every layer is seen; the round after these takes off the rest. */
const DECODE_ROUNDS_MAX = 4;
const NOT_PLAIN = /[A-Z;%]|\.(?:\/|$)|[^]\/$/;

/**
 * Whether a canonical path is already what `lenientPath` makes of it. Cheap enough for every request; may be false
 * for a path that is.
 */
export function isPlainPath(path: string): boolean {
  return !NOT_PLAIN.test(path);
}

/** @param path canonical, also only a part of it that begins with a slash. Returns text, not a path to be sent. */
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
 * Whether a backend that decodes the path once more than it should, or several times, would find dot segments in it
 * that lead above its beginning. Each layer of encoding is looked at: slashes that only a deeper one shows would hide
 * the climb.
 * @param path canonical, also only a part of it that begins with a slash
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
/** So many marks in a row are in no text of any language (Unicode Standard Annex 15, "Stream-Safe Text Format"). */
const MANY_MARKS = /[\p{M}\uff9e\uff9f]{30}/gu;
/**
 * Characters without a glyph, which HFS+ passes over in names, among them the joiner that `folded` puts in; and those
 * that parsers of URLs drop wherever they stand (WHATWG URL, "basic URL parser").
 */
const IGNORED = /[\p{Default_Ignorable_Code_Point}\t\n\r]/gu;
const JOINER = '\u034f';
/** Backslash, and the slashes that Windows maps to one of ASCII where a program asks for its path in a code page. */
const SLASHES = /[\\\u2044\u2215\u2216]/g;
/** White space, and control characters, which some languages count among it. */
// oxlint-disable-next-line no-control-regex -- control characters are meant
const SPACE = /[\s\0-\x1f\x7f-\x9f]/;
const DOT = 0x2e;

/** Segments without path parameters and without white space around them; the empty ones too. */
function segmentsOf(decoded: string): string[] {
  const text = folded(decoded).replace(SLASHES, '/');
  const end = text.search(END);
  return (end < 0 ? text : text.slice(0, end)).split('/').map((segment) => {
    const parameter = segment.indexOf(';');
    return segment.slice(nameStart(segment), spaceStart(segment, parameter < 0 ? segment.length : parameter));
  });
}

/** Normalisation sorts marks in a row, in time that grows with the square of their number: rows are interrupted. */
function folded(text: string): string {
  return text.replace(MANY_MARKS, `$&${JOINER}`).normalize('NFKC').replace(IGNORED, '');
}

/** Upper case first: "ı" and "ſ" are lower-case letters already, of which some comparisons make "I" and "S". */
function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase().replaceAll('i\u0307', 'i');
}

/** Where leading white space ends. */
function nameStart(segment: string): number {
  let start = 0;
  while (start < segment.length && SPACE.test(segment.charAt(start))) start++;
  return start;
}

/** Where the white space in front of `end` begins. */
function spaceStart(segment: string, end: number): number {
  let start = end;
  while (start > 0 && SPACE.test(segment.charAt(start - 1))) start--;
  return start;
}

/** Where trailing dots and white space begin. */
function nameEnd(segment: string): number {
  let end = segment.length;
  while (end > 0 && (segment.charCodeAt(end - 1) === DOT || SPACE.test(segment.charAt(end - 1)))) end--;
  return end;
}

/** One layer of encoding less; the same text when there is none. */
function decodedOnce(text: string): string {
  if (!text.includes('%')) return text;
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  const octets = bytes.replace(/%([0-9A-Fa-f]{2})/g, (_all, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
  return octets === bytes ? text : Buffer.from(octets, 'latin1').toString('utf8');
}

/** All layers that are left of an encoding of percent signs. */
function decodedWhole(text: string): string {
  return decodedOnce(text.replace(/%(?:25)+/g, '%'));
}
