/** Schema of the policy part `cors`. */
import { Type, type Static } from 'typebox';
import { TOKEN_OR_STAR_PATTERN } from '../../../model/patterns.ts';
import { closed } from '../../../model/schema-pieces.ts';

const names = (charsMax: number, itemsMax: number, description: string) =>
  Type.Optional(
    Type.Array(Type.String({ pattern: TOKEN_OR_STAR_PATTERN, maxLength: charsMax }), {
      maxItems: itemsMax,
      description,
    }),
  );

export const CorsSchema = Type.Object(
  {
    allowed_origins: Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), {
      maxItems: 500,
      description:
        'Origins whose pages may read responses: `https://app.example.com`, `https://*.example.com`, `null`, or `*` alone for all. Empty switches CORS off.',
    }),
    allowed_methods: names(
      64,
      50,
      'Methods that the answer to a preflight allows. Default: the method that the preflight asks for.',
    ),
    allowed_headers: names(
      256,
      200,
      'Request headers that the answer to a preflight allows. Default: the headers that the preflight asks for.',
    ),
    expose_headers: names(256, 200, 'Response headers that a page may read.'),
    allow_credentials: Type.Optional(
      Type.Boolean({ description: 'Whether pages may send cookies and credentials.' }),
    ),
    max_age_secs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 31_536_000,
        description: 'How long a browser may keep the answer to a preflight.',
      }),
    ),
  },
  { ...closed, description: 'What pages of other origins may do.' },
);

export type CorsPolicy = Static<typeof CorsSchema>;
