/** Admin token: what a client writes and reads. It cannot be changed, only created and deleted. */
import { Type, type Static } from 'typebox';
import { closed, dateTime, nullable, oneOf } from '../../model/schema-pieces.ts';
import { displayName, recordFields } from './common.ts';

const name = displayName('The person or program that uses the token.');
const role = oneOf(['admin', 'editor', 'viewer'], {
  description:
    'A `viewer` reads. An `editor` also writes configuration and API keys. An `admin` also manages admin tokens and reads the audit log.',
});
const expiresAt = nullable(dateTime('When the token stops working. null: never.'));

export const AdminTokenInputSchema = Type.Object(
  { name, role, expires_at: Type.Optional(expiresAt) },
  { ...closed, title: 'AdminTokenInput' },
);
export type AdminTokenInput = Static<typeof AdminTokenInputSchema>;

const servedFields = {
  ...recordFields,
  name,
  role,
  token_prefix: Type.String({
    readOnly: true,
    description: 'Start of the token, by which it can be recognised.',
  }),
  expires_at: expiresAt,
  last_used_at: nullable(dateTime('Last call with the token, accurate to about a minute.')),
};

export const AdminTokenSchema = Type.Object(servedFields, { ...closed, title: 'AdminToken' });

export const CreatedAdminTokenSchema = Type.Object(
  { ...servedFields, token: Type.String({ description: 'The token itself. It is shown only once.' }) },
  { ...closed, title: 'CreatedAdminToken' },
);
