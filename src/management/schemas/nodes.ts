/** The gateways that share a database: what `GET /api/v1/nodes` answers. */
import { Type } from 'typebox';
import { closed, oneOf } from '../../model/schema-pieces.ts';
import { id } from './common.ts';

const time = (description: string) => Type.String({ format: 'date-time', description });
const version = (description: string) => Type.Integer({ minimum: 0, description });

const NodeSchema = Type.Object(
  {
    id: id('Id of this process. A restart creates a new id.'),
    name: Type.String({
      description: '`GATEWAY_CLUSTER__NODE_NAME`, or host name and management port.',
    }),
    version: Type.String({ description: 'Version of Headgate.' }),
    started_at: time('Start of the node, by its own clock.'),
    last_seen_at: time('Last heartbeat, by the clock of the database.'),
    config_version: version('Config version that all workers of the node have applied.'),
    state: oneOf(['live', 'lagging'], {
      description: '`lagging`: the node has not applied the latest config version yet.',
    }),
    is_self: Type.Boolean({ description: 'Whether this is the node that answers.' }),
  },
  { ...closed, title: 'Node' },
);

export const NodesSchema = Type.Object(
  {
    config_version: version('Latest config version in the database.'),
    nodes: Type.Array(NodeSchema, { description: 'The live nodes, in the order of their start.' }),
  },
  { ...closed, title: 'Nodes' },
);
