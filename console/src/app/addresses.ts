/** The addresses of all pages, as the router takes them; a test visits each. */

export const REVISION = '/apps/$app/versions/$version/revisions/$revision';

export const ADDRESSES = [
  '/',
  '/start',
  '/apps',
  '/apps/$app',
  '/apps/$app/versions/$version',
  REVISION,
  `${REVISION}/endpoints/$endpoint`,
  '/import',
  '/edit',
  '/keys',
  '/apps/$app/keys/$key',
  '/live',
  '/live/$id',
  '/explain',
  '/shadow',
  '/history',
  '/history/$version',
  '/audit',
  '/events',
  '/webhooks',
  '/health',
  '/nodes',
  '/access',
  '/settings',
] as const;

export type Address = (typeof ADDRESSES)[number];
