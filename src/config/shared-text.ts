/**
 * One object for texts that are equal. Records come with texts of their own, ten thousand times `GET` and
 * `127.0.0.1:8080`; where requests compare them, or look them up, that is a wait for memory each time, and a
 * comparison of the same object is none.
 *
 * Owns the latest texts, a bounded number; those that come from a change that is gone are let go with the rest.
 */

const TEXTS_MAX = 1_024;
const CHARS_MAX = 256;

/** As they stand in the program, where requests are compared with them. */
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
];

let texts = new Map<string, string>();

/** The text, as the same object that was given for an equal one, if that was lately. */
export function sharedText<T extends string>(text: T): T {
  if (text.length > CHARS_MAX) return text;
  const known = texts.get(text);
  if (known !== undefined) return known as T;
  if (texts.size === 0 || texts.size >= TEXTS_MAX) texts = new Map(CONSTANTS.map((each) => [each, each]));
  const own = (texts.get(text) ?? text) as T;
  texts.set(own, own);
  return own;
}
