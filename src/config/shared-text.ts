/**
 * One object for equal texts. Each record brings its own texts, ten thousand times `GET` and `127.0.0.1:8080`;
 * comparing them or looking them up waits for memory each time, while comparing the same object does not.
 *
 * Owns a bounded number of recent texts. Texts of a removed configuration are dropped with the rest.
 */

const TEXTS_MAX = 1_024;
const CHARS_MAX = 256;

/** The constants of the program that requests are compared with. */
const CONSTANTS: readonly string[] = [
  '',
  '*',
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'active',
  'deprecated',
  'retired',
  'http',
  'https',
  'http1',
  'h2',
  'auto',
];

let texts = new Map<string, string>();

/** The text, as the same object that was returned for a recent equal text. */
export function sharedText<T extends string>(text: T): T {
  if (text.length > CHARS_MAX) return text;
  const known = texts.get(text);
  if (known !== undefined) return known as T;
  if (texts.size === 0 || texts.size >= TEXTS_MAX) texts = new Map(CONSTANTS.map((each) => [each, each]));
  const own = (texts.get(text) ?? text) as T;
  texts.set(own, own);
  return own;
}
