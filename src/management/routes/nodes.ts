/**
 * `GET /api/v1/nodes`: the gateways that share the database, and which of them have applied its latest config
 * version.
 */
import { envelopeSchema } from '../schemas/envelope.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import { NodesSchema } from '../schemas/nodes.ts';
import type { ManagementContext } from '../context.ts';
import { answer } from '../api/failure.ts';
import { API_PREFIX, type Operation } from '../api/operation.ts';
import { NO_QUERY } from '../api/query.ts';

export function nodesOperation({ nodes, repository }: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/nodes`,
    operationId: 'listNodes',
    tag: 'Service',
    summary: 'The gateways with this database',
    description:
      'A gateway that stops is removed from the list. A gateway that has died is removed when its last heartbeat is older than `GATEWAY_CLUSTER__NODE_TIMEOUT_MS`.',
    access: 'viewer',
    query: NO_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'The live nodes',
      schema: jsonSchema(envelopeSchema('NodesEnvelope', NodesSchema)),
    },
    failures: [],
    handle: async () => {
      // Reads the nodes after the version: they may have applied a newer version, which must not look like a lag.
      const configVersion = await repository.read((reader) => reader.configVersion());
      const listed = await nodes.list();
      return answer(200, 'Nodes listed', {
        config_version: configVersion,
        nodes: listed.map((node) => ({
          id: node.id,
          name: node.name,
          version: node.programVersion,
          started_at: node.startedAt,
          last_seen_at: node.lastSeenAt,
          config_version: node.configVersion,
          state: node.configVersion < configVersion ? 'lagging' : 'live',
          is_self: node.id === nodes.selfId,
        })),
      });
    },
  };
}
