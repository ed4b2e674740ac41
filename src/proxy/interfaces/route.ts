/** The snapshot's types as the proxy uses them, with the policies of policy/stage.ts. */
import type { CompiledRevision, CompiledRoute, CompiledVersion } from '../../config/types.ts';
import type { CompiledPolicy } from '../../policy/stage.ts';

export type Route = CompiledRoute<CompiledPolicy>;
export type Revision = CompiledRevision<CompiledPolicy>;
export type Version = CompiledVersion<CompiledPolicy>;
