/**
 * Creates the operations of a resource from its description: create, list, fetch, replace, change (RFC 7396) and
 * delete, with ETags and preconditions.
 */
import type { ManagementContext } from '../context.ts';
import { getOperation, listOperation } from './crud-reads.ts';
import { updateOperations } from './crud-updates.ts';
import { createOperation, deleteOperation } from './crud-writes.ts';
import type { Operation } from '../api/operation.ts';
import type { Resource, StoredRecord } from './resource.ts';

export function crud<S extends object, I, R extends StoredRecord>(
  resource: Resource<S, I, R>,
  context: ManagementContext,
): Operation[] {
  return [
    createOperation(resource, context),
    listOperation(resource, context),
    getOperation(resource, context),
    ...(resource.update === undefined ? [] : updateOperations(resource, resource.update, context)),
    deleteOperation(resource, context),
  ];
}
