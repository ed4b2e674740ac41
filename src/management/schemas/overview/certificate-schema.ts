/** A name and its certificate: an item of `GET /api/v1/certificates`. */
import { Type, type Static } from 'typebox';
import { closed, dateTime, nullable, oneOf } from '../../../model/schema-pieces.ts';

export const CertificateSchema = Type.Object(
  {
    name: Type.String({
      description: 'DNS name or address. A certificate with several names has an item for each.',
    }),
    source: oneOf(['file', 'acme'], {
      description: '`file`: from a file of the settings; `acme`: ordered by ACME.',
    }),
    listener: oneOf(['traffic', 'management', 'backends'], {
      description:
        'The listener that presents it to clients; `backends`: the gateway presents it to backends.',
    }),
    state: oneOf(['valid', 'expires_soon', 'expired', 'not_valid_yet', 'missing'], {
      description:
        '`expires_soon`: within 14 days; for a certificate by ACME, when its renewal is late. `missing`: it does not exist yet. A certificate by ACME is not served once it has expired.',
    }),
    valid_from: nullable(dateTime('Start of its validity. null: there is no certificate.')),
    expires_at: nullable(dateTime('End of its validity. null: there is no certificate.')),
    order: oneOf(['none', 'under_way', 'waiting'], {
      description:
        '`under_way`: an order for this name is running; `waiting`: an order is due and begins at `next_try_at`.',
    }),
    renew_at: nullable(dateTime('When the certificate is renewed. null: it is not ordered by ACME.')),
    failures: Type.Integer({ minimum: 0, description: 'Number of failed orders in a row.' }),
    last_error: nullable(Type.String({ description: 'Why the last order failed. null: it did not fail.' })),
    failed_at: nullable(dateTime('When the last order failed.')),
    next_try_at: nullable(dateTime('No order begins before this time. null: no order is due.')),
  },
  { ...closed, title: 'Certificate' },
);

export type CertificateEntry = Static<typeof CertificateSchema>;
