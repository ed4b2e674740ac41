/** Where the targets of a revision are looked up, as clients write and read it. */
import { Type, type Static } from 'typebox';
import { closed, oneOf } from '../../../model/schema-pieces.ts';
import { TARGETS_MAX, TargetSchema } from './targets.ts';

const DISCOVERY_TYPES = ['dns', 'dns_srv', 'file'] as const;
/** Longest path of a file with targets, in characters. */
const PATH_MAX = 512;

/** One flat object: write/rules/discovery.ts checks which fields a type has. */
export const DiscoverySchema = Type.Object(
  {
    type: oneOf(DISCOVERY_TYPES, {
      description:
        '`dns`: every address of a name is a target. `dns_srv`: every SRV record of a service is a target. `file`: a file lists the targets.',
    }),
    host: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'With `dns`: the whole name. It is also used for Host and TLS.',
      }),
    ),
    port: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        description: 'With `dns`: the port of every target. Default: 443.',
      }),
    ),
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'With `dns_srv`: the whole name of the records, such as `_https._tcp.billing.internal`.',
      }),
    ),
    path: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: PATH_MAX,
        description: 'With `file`: a path below `GATEWAY_DISCOVERY__FOLDER`, such as `billing.yaml`.',
      }),
    ),
  },
  {
    ...closed,
    title: 'Discovery',
    description:
      'Where each gateway repeatedly looks up the targets, in place of `targets`. What it finds is not part of the configuration. null: the targets are those of `targets`.',
  },
);
export type DiscoveryInput = Static<typeof DiscoverySchema>;

/** Maximum number of sources whose targets are stored across a restart; others are looked up after it. */
export const FOUND_SOURCES_MAX = 10_000;
export const FOUND_FORMAT = 1;

const name = Type.Optional(Type.String({ minLength: 1, maxLength: 255 }));

/** The file of control/discovery/found-file.ts. */
export const FoundTargetsSchema = Type.Object(
  {
    format: Type.Literal(FOUND_FORMAT),
    sources: Type.Array(
      Type.Object(
        {
          key: Type.String({ maxLength: 1_024 }),
          targets: Type.Array(
            Type.Object({ ...TargetSchema.properties, foundAs: name, service: name }, closed),
            { minItems: 1, maxItems: TARGETS_MAX },
          ),
        },
        closed,
      ),
      { maxItems: FOUND_SOURCES_MAX },
    ),
  },
  closed,
);
