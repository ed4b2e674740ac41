/** Version (contract part 2 "Version", part 3 "Version status"): what a client writes, and what it reads. */
import { Type, type Static } from 'typebox';
import { nullable } from '../policy.ts';
import { closed, dateTime, id, label, path, recordFields } from './common.ts';

const versionLabel = label('Public version label; stands for the id in paths.');
const gatewayPath = path('Path prefix of the version. Default: `<app.gateway_path>/<version>`. Unique.');
const status = Type.Union([Type.Literal('active'), Type.Literal('deprecated'), Type.Literal('retired')], {
  default: 'active',
  description: 'A deprecated version serves on with a warning; a retired one answers 410.',
});
const sunsetAt = nullable(dateTime('When a deprecated version is to go: the Sunset header (RFC 8594).'));

export const VersionInputSchema = Type.Object(
  {
    version: versionLabel,
    gateway_path: Type.Optional(gatewayPath),
    status: Type.Optional(status),
    sunset_at: Type.Optional(sunsetAt),
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
      description: 'True while the path is the default and so follows the path of the app.',
    }),
    status,
    sunset_at: sunsetAt,
    deprecated_at: nullable(dateTime('When the version became deprecated (RFC 9745).')),
  },
  { ...closed, title: 'Version' },
);
