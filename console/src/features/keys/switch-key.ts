/** Disables and enables a key. */
import type { Answer } from '../../api/call.ts';
import { keysWords } from '../../text/keys.ts';
import { useSave } from '../save/save-context.ts';

interface SwitchedKey {
  /** Slug or id. */
  readonly app: string;
  readonly id: string;
  readonly name: string;
  /** Whether it is enabled now. */
  readonly isActive: boolean;
  readonly etag?: string | undefined;
}

export function useSwitchKey(): (key: SwitchedKey) => Promise<Answer<unknown> | undefined> {
  const save = useSave();
  return ({ app, id, name, isActive, etag }) => {
    const operation = 'PATCH /apps/{app_id}/tokens/{token_id}';
    const path = { app_id: app, token_id: id };
    return save({
      title: isActive ? keysWords.disableTitle(name) : keysWords.enableTitle(name),
      action: isActive ? keysWords.disable : keysWords.enable,
      operation,
      options: { path, body: { is_active: !isActive }, ...(etag !== undefined && { ifMatch: etag }) },
      done: isActive ? keysWords.disabledDone(name) : keysWords.enabledDone(name),
      undo: { operation, options: { path, body: { is_active: isActive } } },
    });
  };
}
