/**
 * The URL of a webhook in its column: what reads `https://host/enc:v1:…` is sealed, and keeps its host readable. Older
 * versions stored the whole URL as it is; it is read as plain, and sealed by the next write, by a start on SQLite, or
 * with all other secrets (stored-secrets.ts).
 */
import { sql, type Kysely } from 'kysely';
import { hasSecretPath, maskedUrl } from '../../../model/events/webhook-url.ts';
import { isSealed, type SecretBox } from '../../secrets/secret-box.ts';
import type { Tables } from '../kysely-tables.ts';

/** The origin cannot contain a slash. */
const STORED = /^(https?:\/\/[^/]+)\/(enc:v[0-9]+:.*)$/;
/** Entries of the audit log whose URLs are replaced in one transaction. */
const AUDIT_ROWS = 200;

type InTransaction = <T>(work: (db: Kysely<Tables>) => Promise<T>) => Promise<T>;

/** Also binds the origin: a stored path cannot be sent to another host. */
const placeOf = (id: string, origin: string): string => `webhook ${id} ${origin}`;

export function sealUrl(url: string, id: string, box: SecretBox): string {
  if (!hasSecretPath(url)) return url;
  const { origin } = new URL(url);
  return `${origin}/${box.seal(url, placeOf(id, origin))}`;
}

/** Masked if the key cannot decrypt it. */
export function openUrl(stored: string, id: string, box: SecretBox): string {
  const [, origin = '', sealed] = STORED.exec(stored) ?? [];
  if (sealed === undefined) return stored;
  const found = box.open(sealed, placeOf(id, origin));
  return 'text' in found ? found.text : maskedUrl(stored);
}

/**
 * Replaces the sealed part of a stored URL, or a plain URL that should be sealed.
 * @param change gets the sealed part or the plain URL, and returns what to store instead of it
 */
export function mapUrl(
  stored: string,
  id: string,
  change: (sealedOrPlain: string, place: string) => string,
): string {
  const [, origin, sealed] = STORED.exec(stored) ?? [];
  if (origin !== undefined && sealed !== undefined) return `${origin}/${change(sealed, placeOf(id, origin))}`;
  if (!hasSecretPath(stored)) return stored;
  const { origin: host } = new URL(stored);
  const changed = change(stored, placeOf(id, host));
  return isSealed(changed) ? `${host}/${changed}` : stored;
}

/**
 * After a start on SQLite: seals all plain URLs, and masks those in the audit log, where an older version may have
 * written both. Their bytes in the file are overwritten. Not for a database that gateways of an older version share,
 * since these would send to the wrong path.
 */
export async function sealPlainUrls(db: Kysely<Tables>, box: SecretBox): Promise<void> {
  const rows = await db.selectFrom('webhook').select(['id', 'url']).execute();
  const plain = rows.filter(({ url }) => !STORED.test(url) && hasSecretPath(url));
  if (plain.length === 0) return;
  await sql`pragma secure_delete = on`.execute(db);
  await maskAuditedUrls((work) => db.transaction().execute(work));
  await db.transaction().execute(async (transaction) => {
    for (const { id, url } of plain) {
      const sealed = sealUrl(url, id, box);
      // Unless it was changed meanwhile.
      const same = transaction.updateTable('webhook').where('id', '=', id).where('url', '=', url);
      await same.set({ url: sealed }).execute();
    }
  });
  await sql`pragma secure_delete = off`.execute(db);
}

/** Masks the URLs of webhooks in entries that an older version wrote. */
export async function maskAuditedUrls(inWrite: InTransaction): Promise<void> {
  for (let last = ''; ;) {
    const found = await inWrite(async (db) => {
      const rows = await db
        .selectFrom('audit_entry')
        .select(['id', 'change'])
        .where('id', '>', last)
        .where('resource_type', '=', 'webhook')
        .where('change', 'like', '%"url":"http%')
        .orderBy('id')
        .limit(AUDIT_ROWS)
        .execute();
      for (const { id, change } of rows) {
        const masked = withMaskedUrl(change ?? '');
        if (masked !== change)
          await db.updateTable('audit_entry').set({ change: masked }).where('id', '=', id).execute();
      }
      return rows;
    });
    const end = found.at(-1);
    if (end === undefined || found.length < AUDIT_ROWS) return;
    last = end.id;
  }
}

function withMaskedUrl(change: string): string {
  const fields = JSON.parse(change) as Record<string, unknown>;
  const { url } = fields;
  return typeof url === 'string' ? JSON.stringify({ ...fields, url: maskedUrl(url) }) : change;
}
