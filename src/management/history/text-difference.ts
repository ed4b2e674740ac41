/** The difference of two states for people: a unified diff of the files that would declare them. */
import { escapeReferences } from '../../declaration/references.ts';
import { writeYaml } from '../../declaration/yaml-writer.ts';
import { unifiedDiff } from '../../lib/text/line-diff.ts';
import { treeOf, type StoredApp } from '../declaration/tree.ts';

const APPS_MAX = 100;
/** Limit of the files of both states together. */
const FILES_CHARS_MAX = 4_194_304;
const TEXT_CHARS_MAX = 1_048_576;

/**
 * @param appIds apps that differ
 * @param versions the two config versions, for the headers
 * @returns null when it is too long
 */
export function textOfDifference(
  before: readonly StoredApp[],
  after: readonly StoredApp[],
  appIds: ReadonlySet<string>,
  versions: readonly [from: number, to: number],
): string | null {
  if (appIds.size > APPS_MAX) return null;
  const parts: string[] = [];
  let chars = 0;
  for (const id of appIds) {
    const files = [before, after].map((states) => fileOf(states.find(({ tree }) => tree.app.id === id)));
    chars += files.reduce((sum, file) => sum + (file?.text.length ?? 0), 0);
    if (chars > FILES_CHARS_MAX) return null;
    const [old, fresh] = files;
    const names = files.map((file, index) =>
      file === undefined ? '/dev/null' : `${file.name} (version ${versions[index] ?? ''})`,
    );
    parts.push(unifiedDiff(old?.text ?? '', fresh?.text ?? '', [names[0] ?? '', names[1] ?? '']));
  }
  const text = parts.sort().join('');
  return text.length > TEXT_CHARS_MAX ? null : text;
}

function fileOf(state: StoredApp | undefined): { readonly name: string; readonly text: string } | undefined {
  if (state === undefined) return undefined;
  return { name: `${state.tree.app.slug}.yaml`, text: writeYaml(escapeReferences(treeOf([state]))) };
}
