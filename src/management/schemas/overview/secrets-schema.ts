/** The encrypted values of the database by key: what `GET /api/v1/secrets` answers. */
import { Type, type Static } from 'typebox';
import { closed, nullable, oneOf } from '../../../model/schema-pieces.ts';

const KeySchema = Type.Object(
  {
    id: Type.String({ description: 'Identifies the key without revealing it.' }),
    encrypts: Type.Boolean({
      description: 'Whether it encrypts new values: the first key. All keys decrypt.',
    }),
    values: Type.Integer({ minimum: 0, description: 'Number of values that need it.' }),
  },
  { ...closed, title: 'SecretKey' },
);

const CountSchema = Type.Object(
  {
    place: oneOf(['policies', 'history', 'webhooks', 'certificates'], {
      description: 'What the values belong to. `certificates`: private keys of ACME.',
    }),
    key_id: nullable(
      Type.String({ description: 'The key that the values need. null: the values are damaged or plain.' }),
    ),
    state: oneOf(['current', 'other', 'unreadable', 'plain'], {
      description:
        '`current`: encrypted with the first key. `other`: with another one of the keys, until they are encrypted again. `unreadable`: with a key that this gateway does not have, or damaged. `plain`: not encrypted, since an older version stored them; encrypting again ends that.',
    }),
    count: Type.Integer({ minimum: 1, description: 'Number of values.' }),
  },
  { ...closed, title: 'EncryptedValues' },
);

export const SecretsSchema = Type.Object(
  {
    source: Type.String({ description: 'Where the keys come from: a setting or a file.' }),
    keys: Type.Array(KeySchema, { description: 'The keys of this gateway, the first one first.' }),
    values: Type.Array(CountSchema, { description: 'The encrypted values in the database.' }),
  },
  { ...closed, title: 'Secrets' },
);

export type Secrets = Static<typeof SecretsSchema>;

export const RekeyedSchema = Type.Object(
  {
    ...SecretsSchema.properties,
    rekeyed: Type.Integer({ minimum: 0, description: 'Number of values that were encrypted again.' }),
  },
  { ...closed, title: 'RekeyedSecrets' },
);
