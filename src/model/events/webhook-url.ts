/**
 * The URL of a webhook. Path and query are the password of many receivers, such as those of chat services, so they are
 * shown to admins only, and stored encrypted.
 */

const MASK = '********';

/** Whether the URL has a path or a query, which are kept secret. */
export function hasSecretPath(url: string): boolean {
  const { pathname, search } = new URL(url);
  return pathname + search !== '/';
}

/** The URL as others than admins see it. */
export function maskedUrl(url: string): string {
  const { origin } = new URL(url);
  return `${origin}/${hasSecretPath(url) ? MASK : ''}`;
}

/** Whether it stands for a URL that is not shown, or that cannot be decrypted. */
export function isMaskedUrl(url: string): boolean {
  const { pathname } = new URL(url);
  return pathname === `/${MASK}`;
}
