/**
 * The operations of the management API for the pages that describe them: only what they say is used, none is called.
 */
import { allOperations } from '../../src/management/operations.ts';
import type { Operation } from '../../src/management/api/operation.ts';
import type { ManagementContext } from '../../src/management/context.ts';
import type { JsonSchema } from '../../src/model/json-schema.ts';

export function describedOperations(): readonly Operation[] {
  // Operations read the context when they are called, but for this field, which only changes what a creation checks.
  const context: Partial<ManagementContext> = { hasEnvironmentToken: false };
  return allOperations(context as ManagementContext);
}

/** The schema of `data` in the answer; of one item, where the answer is a list. */
export function answeredSchema({ success }: Operation): JsonSchema | undefined {
  const data = success.schema?.properties?.['data'];
  return data?.type === 'array' ? data.items : data;
}
