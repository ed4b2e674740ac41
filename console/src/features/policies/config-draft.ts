/** An edit of the declared configuration that is not applied yet. Pure but for the browser's storage. */
import { stringify } from 'yaml';
import { editorWords } from '../../text/editor.ts';
import { CHECKED_CHARS_MAX, valueOfYaml } from '../../ui/editor/yaml-places.ts';
import { isFields, isSame, type Fields } from '../save/merge-patch.ts';

export interface ConfigDraft {
  /** The configuration as read, and its config version. */
  readonly base: Fields;
  readonly version: number;
  /** The text of `base` that this draft began with: an unchanged text need not be parsed. */
  readonly baseText?: string;
  readonly text: string;
}

export interface ReadConfig {
  readonly config?: Fields;
  readonly problem?: string;
}

export function configDraft(tree: Fields, version: number): ConfigDraft {
  const text = configText(tree);
  return { base: tree, version, baseText: text, text };
}

export function configText(tree: Fields): string {
  return stringify(tree, { lineWidth: 0 });
}

/** Caches the answer for the same text, which several callers ask for. */
let lastRead: { readonly text: string; readonly read: ReadConfig } | undefined;

export function readConfig(text: string): ReadConfig {
  if (lastRead?.text !== text) lastRead = { text, read: parsed(text) };
  return lastRead.read;
}

function parsed(text: string): ReadConfig {
  const { value: config = {}, problem } = valueOfYaml(text);
  if (problem !== undefined) return { problem };
  return isFields(config) ? { config } : { problem: editorWords.mustBeFields };
}

/**
 * Like `readConfig` for its text, except for a known one, or one that is too long to parse after each change.
 * @returns undefined for such a long text
 */
export function readDraft({ base, baseText, text }: ConfigDraft): ReadConfig | undefined {
  if (text === baseText) return { config: base };
  return text.length > CHECKED_CHARS_MAX ? undefined : readConfig(text);
}

/** A text that is too long to be read counts as edited. */
export function isEdited(draft: ConfigDraft): boolean {
  const config = readDraft(draft)?.config;
  return config === undefined || !isSame(config, draft.base);
}

const storageKey = (app: string): string => `headgate.config:${app}`;
/** Secrets are handles until one is typed; values of keys are secrets as well. */
const SECRET = /^\s*["']?(?:secret|value)["']?\s*:\s*(?!["']?\$\{sealed:)\S/m;
/** A browser stores only some megabytes for a page. */
const KEPT_CHARS_MAX = 1_000_000;

/** So that a reload of the page loses nothing that was typed. */
export function keepConfigDraft(app: string, draft: ConfigDraft): void {
  try {
    const { baseText, ...kept } = draft;
    const mayKeep =
      kept.text !== baseText &&
      kept.text.length <= KEPT_CHARS_MAX &&
      isEdited(draft) &&
      !SECRET.test(kept.text);
    if (mayKeep) sessionStorage.setItem(storageKey(app), JSON.stringify(kept));
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
