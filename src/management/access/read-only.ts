/** Refuses writes when the configuration comes from files, which must be changed instead. */
import { fail, type Failure } from '../api/failure.ts';
import type { Operation } from '../api/operation.ts';
import type { ConfigFileStatus } from '../context.ts';
import type { Actor } from './admin-auth.ts';

/** undefined when the operation may continue. Only admins see the path. */
export function readOnlyFailure(
  { isWrite }: Pick<Operation, 'isWrite'>,
  { role }: Actor,
  file: ConfigFileStatus | undefined,
): Failure | undefined {
  if (isWrite !== true || file === undefined) return undefined;
  const where = role === 'admin' ? `: ${file.path}` : '';
  return fail('configuration_from_file', `The configuration comes from a file and is changed there${where}`);
}
