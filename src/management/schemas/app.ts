/** App (contract part 2 "App"): what a client writes, and what it reads. */
import { Type, type Static } from 'typebox';
import { SLUG_PATTERN } from '../../model/patterns.ts';
import { closed, nullable, oneOf } from '../../model/schema-pieces.ts';
import { PolicySchema } from '../../policy/registry.ts';
import { displayName, freeText, labelsMap, path, recordFields } from './common.ts';

const routingMode = oneOf(['pass_through', 'managed_endpoint'], {
  default: 'pass_through',
  description:
    '`pass_through` forwards every path below the versions; `managed_endpoint` forwards only registered endpoints.',
});

/** Limit of the hosts of one app. */
const HOSTS_MAX = 1_000;

const hosts = (options: { readonly default?: readonly string[] } = {}) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 1_024 }), {
    ...options,
    maxItems: HOSTS_MAX,
    description:
      'Names of the hosts whose requests the app serves, such as `api.example.com`, or `*.example.com` for every name below `example.com`. They are stored in lower case and as A-labels. Empty: the app serves every host; apps that list a host have priority for it.',
  });

const fields = {
  name: displayName('Name for people.'),
  slug: Type.String({
    pattern: SLUG_PATTERN,
    description: 'Short name, unique among apps. Works in place of the id in API paths.',
  }),
  gateway_path: path(
    'Path prefix of the app. Canonical, without a trailing slash, unique among apps that have a host in common.',
  ),
};

export const AppInputSchema = Type.Object(
  {
    ...fields,
    hosts: Type.Optional(hosts({ default: [] })),
    routing_mode: Type.Optional(routingMode),
    default_policy: Type.Optional(nullable(PolicySchema)),
    description: Type.Optional(nullable(freeText('What the app is for.'))),
    labels: Type.Optional(labelsMap),
    allow_encoded_slashes: Type.Optional(
      Type.Boolean({ default: false, description: 'Accept `%2F` in request paths.' }),
    ),
  },
  { ...closed, title: 'AppInput' },
);
export type AppInput = Static<typeof AppInputSchema>;

export const AppSchema = Type.Object(
  {
    ...recordFields,
    ...fields,
    hosts: hosts(),
    routing_mode: routingMode,
    default_policy: nullable(PolicySchema),
    description: nullable(freeText('What the app is for.')),
    labels: labelsMap,
    allow_encoded_slashes: Type.Boolean({ description: 'Accept `%2F` in request paths.' }),
  },
  { ...closed, title: 'App' },
);
