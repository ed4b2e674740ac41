/**
 * Changes the configuration in memory to what the files declare: with the same code, rules and checks as an apply
 * through the management API, in one transaction and one swap on all workers. Ids are derived from labels, so that
 * counters, limits and metrics of nodes with the same files agree, also after a restart.
 */
import { namedId } from '../../lib/named-id.ts';
import type { FieldError } from '../../model/errors.ts';
import type { Warning } from '../../model/warnings.ts';
import { answer, isFailure } from '../../management/api/failure.ts';
import { applyTree } from '../../management/declaration/apply-tree.ts';
import { changeWarnings } from '../../management/write/warnings/change-warnings.ts';
import { presentChanges, type PresentedChanges } from '../../management/declaration/present-changes.ts';
import type { RuleContext } from '../../management/write/rule-context.ts';
import type { WriteOrigin, WritePath, WriteWork } from '../../management/write/write.ts';
import type { FileConfig } from './read-config-file.ts';

const ORIGIN: WriteOrigin = { actor: { id: 'system' }, address: null, requestId: null };

type Applied =
  | {
      readonly totals: PresentedChanges['totals'];
      /** Warnings about the changes, with pointers into the configuration. */
      readonly warnings: readonly Warning[];
    }
  | 'unchanged'
  | { readonly errors: readonly FieldError[] };

export type ApplyConfigFile = (config: FileConfig) => Promise<Applied>;

/** @param rules without a reader @returns a function that rejects with StorageUnavailable */
export function configFileApply(write: WritePath, rules: Omit<RuleContext, 'reader'>): ApplyConfigFile {
  return async (config) => {
    let applied: Applied = 'unchanged';
    const work: WriteWork = async (writer) => {
      const inside: RuleContext = { ...rules, reader: writer, isReplay: true };
      const log = await applyTree(writer, inside, config, {
        owner: config.owner,
        adopt: true,
        prune: false,
        deletesMax: Infinity,
        whole: { idOf: (type, path) => namedId([type, ...path]) },
      });
      if (isFailure(log)) return log;
      if (log.changes.length === 0) return { unchanged: answer(200, 'Nothing to change', null) };
      const { totals } = presentChanges(log.changes);
      applied = { totals, warnings: await changeWarnings(log.changes, inside) };
      return {
        answer: answer(200, 'Applied', totals),
        touched: log.touched,
        audit: {
          action: 'config.apply',
          resourceType: 'config',
          resourceId: config.owner ?? '',
          resourceName: config.owner ?? null,
          parents: {},
          change: { ...totals, message: 'from the configuration file' },
        },
      };
    };
    const result = await write(ORIGIN, work);
    if (!isFailure(result)) return applied;
    return { errors: result.errors ?? [{ pointer: '', detail: result.detail }] };
  };
}
