/** App (contract part 2 "App"): what a client writes, and what it reads. */
import { Type, type Static } from 'typebox';
import { SLUG_PATTERN } from '../patterns.ts';
import { nullable } from '../policy.ts';
import { closed, displayName, freeText, labelsMap, NamedPolicySchema, path, recordFields } from './common.ts';

const routingMode = Type.Union([Type.Literal('pass_through'), Type.Literal('managed_endpoint')], {
  default: 'pass_through',
  description: 'In `managed_endpoint` mode only registered endpoints are reachable.',
});

const fields = {
  name: displayName('Display name.'),
  slug: Type.String({
    pattern: SLUG_PATTERN,
    description: 'Short identifier; stands for the id in paths. Lower-case letters, digits and inner dashes.',
  }),
  gateway_path: path('Path prefix of the app. Canonical, without a trailing slash, unique.'),
};

export const AppInputSchema = Type.Object(
  {
    ...fields,
    routing_mode: Type.Optional(routingMode),
    default_policy: Type.Optional(nullable(NamedPolicySchema)),
    description: Type.Optional(nullable(freeText('For people.'))),
    labels: Type.Optional(labelsMap),
    allow_encoded_slashes: Type.Optional(
      Type.Boolean({ default: false, description: 'Lets `%2F` in request paths through.' }),
    ),
  },
  { ...closed, title: 'AppInput' },
);
export type AppInput = Static<typeof AppInputSchema>;

export const AppSchema = Type.Object(
  {
    ...recordFields,
    ...fields,
    routing_mode: routingMode,
    default_policy: nullable(NamedPolicySchema),
    description: nullable(freeText('For people.')),
    labels: labelsMap,
    allow_encoded_slashes: Type.Boolean(),
  },
  { ...closed, title: 'App' },
);
