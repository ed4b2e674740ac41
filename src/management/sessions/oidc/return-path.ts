/** The page of the console to which a sign-in leads back: only ever a path of this origin. Pure. */
const PATH_CHARS_MAX = 2_048;

/** undefined: the text could lead to another origin. */
export function returnPath(text: string): string | undefined {
  if (text.length > PATH_CHARS_MAX || !/^\/(?!\/)[!-[\]-~]*$/.test(text)) return undefined;
  const base = 'http://own.invalid';
  if (!URL.canParse(text, base)) return undefined;
  const { origin, pathname } = new URL(text, base);
  // "/.//other" resolves to a path with two slashes at its start, which the next program that resolves it reads as
  // another origin.
  return origin === base && !pathname.startsWith('//') ? text : undefined;
}

/** A page that leads on at once, without a script. The cookie that comes with it is sent only by its own navigation. */
export function onwardPage(path: string): string {
  const escaped = path.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Signed in</title><meta http-equiv="refresh" content="0; url=${escaped}"></head><body><p>Signed in. <a href="${escaped}">Continue</a></p></body></html>`;
}
