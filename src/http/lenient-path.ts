/**
 * How a lenient backend may read a path: what servers, frameworks and file systems are known to make of one before
 * they look for what it names. Not for forwarding and not for routing, which know one canonical path
 * (canonical-path.ts); only to find out what else a path could be taken for.
 *
 * It decodes percent-encodings again and again, also encoded slashes; folds compatibility characters (full-width
 * slashes and dots) and case; ends the path at "?", "#" and NUL; cuts path parameters, white space and trailing dots
 * off segments, and drops empty ones; resolves dot segments; takes backslashes for slashes. What only some framework
 * adds, such as extensions ("/report.json" for "/report"), it does not know.
 */

/** Each round takes off one layer of encoding; more layers than this are not decoded by anybody. */
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
  const text = decoded(path).normalize('NFKC').replaceAll('\\', '/');
  const end = text.search(END);
  const segments: string[] = [];
  for (const raw of (end < 0 ? text : text.slice(0, end)).split('/')) {
    const parameter = raw.indexOf(';');
    const segment = parameter < 0 ? raw : raw.slice(0, parameter);
    const trimmed = segment.trim();
    if (trimmed === '..') segments.pop();
    else {
      const name = trimmed.replace(TRAILING_DOTS_AND_SPACE, '').toLowerCase();
      if (name !== '') segments.push(name);
    }
  }
  return `/${segments.join('/')}`;
}

// oxlint-disable-next-line no-control-regex -- NUL is one of the characters that end a path
const END = /[?#\0]/;
const TRAILING_DOTS_AND_SPACE = /[.\s]+$/;

function decoded(path: string): string {
  let text = path;
  for (let round = 0; round < DECODE_ROUNDS_MAX && text.includes('%'); round++) {
    const bytes = Buffer.from(text, 'utf8').toString('latin1');
    const octets = bytes.replace(/%([0-9A-Fa-f]{2})/g, (_all, hex: string) =>
      String.fromCharCode(parseInt(hex, 16)),
    );
    if (octets === bytes) break;
    text = Buffer.from(octets, 'latin1').toString('utf8');
  }
  return text;
}
