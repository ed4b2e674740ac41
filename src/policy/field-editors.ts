/** Several editors of the fields of one message as one. */
import type { FieldEditor } from './stage.ts';

/** The next editor sees the name that an editor returns; the added lines have the order of the editors. */
export function combinedEditor(editors: readonly FieldEditor[]): FieldEditor | undefined {
  const [first] = editors;
  if (editors.length < 2) return first;
  return Object.freeze({
    nameOf: (name: string) => {
      let changed: string | undefined;
      for (const editor of editors) {
        changed = editor.nameOf(changed ?? name) ?? changed;
        if (changed === '') return changed;
      }
      return changed;
    },
    lines: (subject: Parameters<FieldEditor['lines']>[0]) =>
      editors.reduce((lines, editor) => lines + editor.lines(subject), ''),
  });
}
