/** A URL for messages: without its query and user information, which may hold secrets. */
export function shownUri(uri: string): string {
  const url = URL.parse(uri);
  return url === null ? 'an invalid URL' : url.origin + url.pathname;
}
