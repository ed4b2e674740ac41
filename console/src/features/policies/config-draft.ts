/** An edit of the declared configuration that is not applied yet. Pure but for the browser's storage. */
import { stringify } from 'yaml';
import { editorWords } from '../../text/editor.ts';
import { valueOfYaml } from '../../ui/editor/yaml-places.ts';
import { isFields, isSame, type Fields } from '../save/merge-patch.ts';

export interface ConfigDraft {
  /** As it was read, and the config version that it was read at. */
  readonly base: Fields;
  readonly version: number;
  readonly text: string;
}

export interface ReadConfig {
  readonly config?: Fields;
  readonly problem?: string;
}

export function configDraft(tree: Fields, version: number): ConfigDraft {
  return { base: tree, version, text: configText(tree) };
}

export function configText(tree: Fields): string {
  return stringify(tree, { lineWidth: 0 });
}

export function readConfig(text: string): ReadConfig {
  const { value: config = {}, problem } = valueOfYaml(text);
  if (problem !== undefined) return { problem };
  return isFields(config) ? { config } : { problem: editorWords.mustBeFields };
}

export function isEdited(draft: ConfigDraft): boolean {
  const { config } = readConfig(draft.text);
  return config === undefined || !isSame(config, draft.base);
}

const storageKey = (app: string): string => `headgate.config:${app}`;
/** Secrets are handles until one is typed; values of keys are secrets as well. */
const SECRET = /^\s*["']?(?:secret|value)["']?\s*:\s*(?!["']?\$\{sealed:)\S/m;
/** What a browser keeps for a page is some megabytes. */
const KEPT_CHARS_MAX = 1_000_000;

/** So that a reload of the page loses nothing that was typed. */
export function keepConfigDraft(app: string, draft: ConfigDraft): void {
  try {
    const mayKeep = isEdited(draft) && !SECRET.test(draft.text) && draft.text.length <= KEPT_CHARS_MAX;
    if (mayKeep) sessionStorage.setItem(storageKey(app), JSON.stringify(draft));
    else sessionStorage.removeItem(storageKey(app));
  } catch {
    // A full or forbidden storage: the page has the draft.
  }
}

export function keptConfigDraft(app: string): ConfigDraft | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(storageKey(app)) ?? 'null') as ConfigDraft | null;
    return kept !== null && isFields(kept.base) && typeof kept.text === 'string' ? kept : undefined;
  } catch {
    return undefined;
  }
}
