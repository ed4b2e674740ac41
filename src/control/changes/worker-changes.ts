/**
 * Configuration changes on the side of a worker. A large one is prepared between the requests, which see the state
 * before it, and applied by a later message; any other is compiled and applied at once. Owns the prepared change.
 */
import type { SnapshotHolder } from '../../config/holder.ts';
import { messageOf } from '../../lib/error-message.ts';
import { inSlices, type Steps } from '../../config/changes/slices.ts';
import type { ConfigChange } from '../../model/config.ts';
import type { AppliedMessage, PrepareMessage } from '../workers/protocol.ts';
import { unpackChange, type ChangeParts } from './change-parts.ts';

export class WorkerChanges {
  readonly #holder: Pick<SnapshotHolder<unknown>, 'prepare' | 'apply'>;
  #publish: (() => void) | undefined;

  constructor(holder: Pick<SnapshotHolder<unknown>, 'prepare' | 'apply'>) {
    this.#holder = holder;
  }

  /** Compiles a change; resolves with the answer. Until then no other change may be applied. Never rejects. */
  async prepare({ id, parts }: PrepareMessage): Promise<AppliedMessage> {
    try {
      this.#publish = await inSlices(this.#preparation(parts));
      return { type: 'applied', id, error: undefined };
    } catch (error) {
      return { type: 'applied', id, error: messageOf(error) };
    }
  }

  /**
   * Applies a change.
   * @param change undefined: the prepared one
   * @returns why it is not applied; the state is then the one before
   */
  apply(change: ConfigChange | undefined): string | undefined {
    const publish = this.#publish;
    this.#publish = undefined;
    try {
      if (change !== undefined) this.#holder.apply(change);
      else if (publish === undefined) return 'Cannot apply a change: it was not prepared';
      else publish();
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  *#preparation(parts: ChangeParts): Steps<() => void> {
    return yield* this.#holder.prepare(yield* unpackChange(parts));
  }
}
