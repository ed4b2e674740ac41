/** A browser and its system in a few words, from the User-Agent header of a sign-in. */

/** In the order of asking: most browsers also call themselves Chrome or Safari. */
const BROWSERS: readonly (readonly [name: string, mark: RegExp])[] = [
  ['Edge', /Edg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /OPR\/(\d+)/],
  ['Firefox', /(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /(?:Chrome|CriOS)\/(\d+)/],
  ['Safari', /Version\/(\d+)[\d.]*.* Safari\//],
];
const SYSTEMS: readonly (readonly [name: string, mark: RegExp])[] = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['Windows', /Windows/],
  ['macOS', /Macintosh/],
  ['ChromeOS', /CrOS/],
  ['Linux', /Linux/],
];

/** For other clients the first word, such as `curl/8.9.1`. */
export function browserOf(userAgent: string): string {
  const found = BROWSERS.map(([name, mark]) => [name, mark.exec(userAgent)?.[1]] as const).find(
    ([, version]) => version !== undefined,
  );
  if (found === undefined) return userAgent.split(' ', 1)[0] ?? '';
  const system = SYSTEMS.find(([, mark]) => mark.test(userAgent))?.[0];
  return [found.join(' '), ...(system === undefined ? [] : [system])].join(', ');
}
