/** Schema of `auth.mtls`, and its types. */
import { Type, type Static } from 'typebox';
import {
  CERTIFICATE_NAME_PATTERN,
  NO_CONTROL_CHARACTERS_PATTERN,
  SCOPE_PATTERN,
} from '../../../../model/patterns.ts';
import { closed, oneOf } from '../../../../model/schema-pieces.ts';

const CERTIFICATE_CALLERS_MAX = 1_000;

const CertificateCallerSchema = Type.Object(
  {
    from: oneOf(['san_uri', 'san_dns', 'san_email', 'subject', 'fingerprint'], {
      description:
        'Part of the certificate that is compared: an alternative name, the subject in the form of RFC 4514 (`CN=web,O=Example`), or the SHA-256 of the certificate.',
    }),
    value: Type.String({
      minLength: 1,
      maxLength: 2_048,
      pattern: NO_CONTROL_CHARACTERS_PATTERN,
      description:
        'The whole value. One `*` stands for any characters up to the next separator: `/` in a URI, `.` in a DNS name, `@` in an email address, `,` in a subject. A fingerprint cannot have one.',
    }),
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        pattern: NO_CONTROL_CHARACTERS_PATTERN,
        description: 'Name and id of the caller. Default: the value in the certificate.',
      }),
    ),
    scopes: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 256, pattern: SCOPE_PATTERN }), {
        maxItems: 50,
        uniqueItems: true,
        description: 'Scopes that the caller has.',
      }),
    ),
  },
  { ...closed, description: 'The caller of a certificate with this value.' },
);

export const MtlsSettingsSchema = Type.Object(
  {
    ca: Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: CERTIFICATE_NAME_PATTERN,
      description:
        'Name of the trusted certificates: the file `<name>.crt` in the folder of `GATEWAY_PROXY__CLIENT_CAS`, with revocation lists in `<name>.crl`.',
    }),
    callers: Type.Optional(
      Type.Array(CertificateCallerSchema, {
        minItems: 1,
        maxItems: CERTIFICATE_CALLERS_MAX,
        description:
          'Assigns certificates to callers. The first entry that matches decides, and a certificate that matches none is refused. Default: every trusted certificate is accepted, and its subject is the caller.',
      }),
    ),
    revocation_lists: Type.Optional(
      oneOf(['if_present', 'required'], {
        default: 'if_present',
        description: 'Whether all certificates are refused while the file `<name>.crl` does not exist.',
      }),
    ),
    forward: Type.Optional(
      oneOf(['none', 'client_cert', 'x_forwarded_client_cert'], {
        default: 'none',
        description:
          'How the backend gets the certificate: not at all, in `Client-Cert` (RFC 9440), or in `X-Forwarded-Client-Cert`. Clients cannot send these headers.',
      }),
    ),
  },
  { ...closed, description: 'Which client certificates are accepted, and which callers they identify.' },
);

export type MtlsSettings = Static<typeof MtlsSettingsSchema>;
export type CertificateCaller = Static<typeof CertificateCallerSchema>;
