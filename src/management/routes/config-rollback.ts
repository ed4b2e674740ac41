/** `POST /config/versions/{n}/rollback`: back to a kept version, as a new one; see history/rollback.ts. */
import { jsonSchema, type JsonSchema } from '../../model/json-schema.ts';
import { checkRole } from '../access/admin-auth.ts';
import { answer, isFailure, type Failure } from '../api/failure.ts';
import { Admission } from '../api/admission.ts';
import { API_PREFIX, type Call, type Operation } from '../api/operation.ts';
import { NO_QUERY } from '../api/query.ts';
import { MESSAGE_FIELD, withMessage } from '../write/write-note.ts';
import type { ManagementContext } from '../context.ts';
import { rulesOf } from '../crud/locate.ts';
import { auditChanges } from '../declaration/audit-changes.ts';
import { changeWarnings } from '../write/warnings/change-warnings.ts';
import { movedSince } from '../history/moved-since.ts';
import { CHANGES_SHOWN_MAX, presentChanges } from '../declaration/present-changes.ts';
import { configVersionOf } from '../history/kept-versions.ts';
import type { NotRestored } from '../history/restored-state.ts';
import { rollBack } from '../history/rollback.ts';
import { RollbackSchema } from '../schemas/config/config-history.ts';
import { envelopeSchema } from '../schemas/envelope.ts';
import type { DryRun, Unchanged, WriteWork, Written } from '../write/write.ts';

interface RollbackBody {
  readonly app?: string;
  readonly delete_keys?: boolean;
  readonly base_version?: number;
  readonly dry_run?: boolean;
  readonly message?: string;
}

const BODY: JsonSchema = {
  type: 'object',
  title: 'RollbackInput',
  properties: {
    app: {
      type: 'string',
      minLength: 1,
      maxLength: 128,
      description: 'Slug or id of the only app to restore.',
    },
    delete_keys: {
      type: 'boolean',
      default: false,
      description:
        'Delete the keys that were created since. By default they stay, and a rollback that would delete their app is refused.',
    },
    base_version: {
      type: 'integer',
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The config version for which a dry run was made; 409 when another version is in force.',
    },
    dry_run: { type: 'boolean', default: false, description: 'Only report what would change.' },
    message: MESSAGE_FIELD,
  },
  additionalProperties: false,
};

const NOTHING_BEFORE: DryRun = { begin: async () => undefined, conclude: (real) => real };

/** Limit of rollbacks that wait or run: each holds two states of the whole configuration. */
const ROLLBACKS_MAX = 8;

export function rollbackOperation(context: ManagementContext): Operation {
  const rollbacks = new Admission(ROLLBACKS_MAX);
  return {
    method: 'POST',
    path: `${API_PREFIX}/config/versions/{config_version}/rollback`,
    operationId: 'rollbackConfig',
    tag: 'Configuration',
    summary: 'Restore a version of the configuration',
    description:
      'One transaction and one swap on all workers, which creates a new version. Records are restored by their identity, so renames are undone. Deleted and expired keys do not come back, and no key gets more rights than it has now. A dry run needs only the role `viewer`.',
    access: 'viewer',
    admission: rollbacks,
    query: NO_QUERY,
    body: { schema: BODY, required: false, mergePatch: false, example: { message: 'Back to Friday' } },
    entityTag: false,
    isWrite: true,
    success: {
      status: 200,
      description: 'The changes',
      schema: jsonSchema(envelopeSchema('RollbackEnvelope', RollbackSchema)),
    },
    failures: ['forbidden', 'conflict', 'config_version_gone', 'overloaded'],
    handle: async (call) => {
      const body = (call.body ?? {}) as RollbackBody;
      const forbidden = body.dry_run === true ? undefined : checkRole(call.actor, 'editor', 'A rollback');
      if (forbidden !== undefined) return forbidden;
      const configVersion = configVersionOf(call.params['config_version']);
      if (typeof configVersion !== 'number') return configVersion;
      const message = withMessage(call).message ?? `Rollback to config version ${configVersion}`;
      const origin = { ...call, message };
      const work = rollbackWork(context, origin, configVersion, body);
      const dryRun = body.dry_run === true ? NOTHING_BEFORE : undefined;
      return rollbacks.runAlone(() => context.write(origin, work, dryRun));
    },
  };
}

function rollbackWork(
  context: ManagementContext,
  call: Call,
  configVersion: number,
  body: RollbackBody,
): WriteWork {
  return async (writer): Promise<Written | Unchanged | Failure> => {
    const base = await writer.configVersion();
    const moved = await movedSince(writer, base, body, call.actor.role === 'admin');
    if (moved !== undefined) return moved;
    const options = { app: body.app, deletesKeys: body.delete_keys === true };
    const rules = rulesOf(context, writer);
    const done = await rollBack(writer, rules, configVersion, options);
    if (isFailure(done)) return done;
    const { log, notRestored } = done;
    const isNothing =
      log.touched.appIds.length + log.touched.versionIds.length + log.touched.keyIds.length === 0;
    const changes = presentChanges(log.changes);
    const message = isNothing ? 'Nothing to change' : body.dry_run === true ? 'Plan' : 'Rolled back';
    const real = answer(200, message, {
      base_version: base,
      rolled_back_to: configVersion,
      ...changes,
      not_restored: notRestored.slice(0, CHANGES_SHOWN_MAX).map(presentKept),
      not_restored_total: notRestored.length,
    });
    if (isNothing) return { unchanged: real };
    await auditChanges(log, writer, call, context.clock.nowMs());
    const { source, commit } = call;
    return {
      answer: real,
      touched: log.touched,
      warnings: () => changeWarnings(log.changes, rules),
      audit: {
        action: 'config.rollback',
        resourceType: 'config',
        resourceId: String(configVersion),
        resourceName: body.app ?? null,
        parents: {},
        change: { ...changes.totals, to: configVersion, source, commit, message: call.message },
      },
    };
  };
}

function presentKept({ app, key, reasons }: NotRestored): object {
  return { app, key: key.name, id: key.id, reasons };
}
