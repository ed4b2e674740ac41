/** Version (contract part 2 "Version", part 3 "Version status"): what a client writes, and what it reads. */
import { Type, type Static } from 'typebox';
import { closed, dateTime, nullable, oneOf } from '../../model/schema-pieces.ts';
import { SUCCESSOR_PATTERN } from '../../model/patterns.ts';
import { id, label, path, recordFields } from './common.ts';

const SUCCESSOR_CHARS_MAX = 2048;

const versionLabel = label('Label of the version, for example `v1`. Works in place of the id in API paths.');
const gatewayPath = path('Path prefix of the version, unique. Default: `<app.gateway_path>/<version>`.');
const status = oneOf(['active', 'deprecated', 'retired'], {
  default: 'active',
  description:
    'A `deprecated` version is still served, with a warning in the log; a `retired` version answers 410.',
});
const sunsetAt = nullable(
  dateTime('When a deprecated version will be removed; sent as the `Sunset` header (RFC 8594).'),
);
const deprecatedAt = nullable(
  dateTime(
    'When the version was or will be deprecated; sent as the `Deprecation` header (RFC 9745). Default: when its status became `deprecated`.',
  ),
);
const successor = nullable(
  Type.String({
    minLength: 1,
    maxLength: SUCCESSOR_CHARS_MAX,
    pattern: SUCCESSOR_PATTERN,
    description:
      'Replacement of the version, sent as a `Link` header with `rel="successor-version"` (RFC 5829): the label of another version of the app, a path that starts with `/`, or an `http` or `https` URL.',
  }),
);

export const VersionInputSchema = Type.Object(
  {
    version: versionLabel,
    gateway_path: Type.Optional(gatewayPath),
    status: Type.Optional(status),
    sunset_at: Type.Optional(sunsetAt),
    deprecated_at: Type.Optional(deprecatedAt),
    successor: Type.Optional(successor),
  },
  { ...closed, title: 'VersionInput' },
);
export type VersionInput = Static<typeof VersionInputSchema>;

export const VersionSchema = Type.Object(
  {
    ...recordFields,
    app_id: id('Id of the app.'),
    version: versionLabel,
    gateway_path: gatewayPath,
    gateway_path_is_default: Type.Boolean({
      readOnly: true,
      description:
        'Whether `gateway_path` is the default. If so, it changes together with the path of the app.',
    }),
    status,
    sunset_at: sunsetAt,
    deprecated_at: deprecatedAt,
    successor,
  },
  { ...closed, title: 'Version' },
);
