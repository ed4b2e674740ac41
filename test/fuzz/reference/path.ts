/** The slow, obvious twin of `canonicalPath`: rewrites the whole path with regular expressions, then judges it. */

const unreserved = /[A-Za-z0-9._~-]/;

/** The canonical path, or undefined when the path must be refused. */
export function referencePath(rawPath: string): string | undefined {
  if (!/^\/[\x21-\x7e]*$/.test(rawPath) || /[\\#?]/.test(rawPath) || /%(?![0-9A-Fa-f]{2})/.test(rawPath))
    return undefined;
  const path = rawPath
    .replace(/["<>^`{|}[\]]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
    .replace(/%[0-9A-Fa-f]{2}/g, (octet) => {
      const character = String.fromCharCode(Number.parseInt(octet.slice(1), 16));
      return unreserved.test(character) ? character : octet.toUpperCase();
    });
  if (/%[01]|%7F|%5C/.test(path)) return undefined;
  if (/%C[01]%[89AB]|%E0%[89]|%F0%8/.test(path)) return undefined;
  if (path.includes('//')) return undefined;
  const segments = path.split(/\/|%2F/);
  return segments.some((segment) => /^\.\.?(;|%3B|$)/.test(segment)) ? undefined : path;
}
