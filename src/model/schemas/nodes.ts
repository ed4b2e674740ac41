/** The gateways that share a database: what `GET /api/v1/nodes` answers. */
import { Type } from 'typebox';
import { closed, id } from './common.ts';

const time = (description: string) => Type.String({ format: 'date-time', description });
const version = (description: string) => Type.Integer({ minimum: 0, description });

export const NodeSchema = Type.Object(
  {
    id: id('Of this run of the program; another one after a restart.'),
    name: Type.String({
      description:
        '`GATEWAY_CLUSTER__NODE_NAME`, or the name of the host and the port of the management API.',
    }),
    version: Type.String({ description: 'Of Headgate.' }),
    started_at: time('By the clock of the node.'),
    last_seen_at: time('Last heartbeat, by the clock of the database.'),
    config_version: version('What all workers of the node obey.'),
    state: Type.Union([Type.Literal('live'), Type.Literal('lagging')], {
      description: '`lagging`: it does not obey the latest config version yet.',
    }),
    is_self: Type.Boolean({ description: 'The node that answers.' }),
  },
  { ...closed, title: 'Node' },
);

export const NodesSchema = Type.Object(
  {
    config_version: version('The latest, of the database.'),
    nodes: Type.Array(NodeSchema, { description: 'Those that live, ordered by their start.' }),
  },
  { ...closed, title: 'Nodes' },
);
