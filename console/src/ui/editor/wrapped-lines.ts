/**
 * Indents the wrapped parts of lines that are longer than the editor is wide: in YAML the indent has a meaning. Uses
 * classes, because the content security policy refuses inline styles.
 */
import type { Extension, Range } from '@codemirror/state';
import {
  Decoration,
  EditorView,
  ViewPlugin,
  type DecorationSet,
  type PluginValue,
  type ViewUpdate,
} from '@codemirror/view';

/** Deeper lines are indented like these, so that some of their text fits. */
const INDENT_MAX = 16;
const FURTHER = 2;

const INDENTS = Array.from({ length: INDENT_MAX + 1 }, (_, chars) => ({
  name: `cm-goes-on-${chars}`,
  mark: Decoration.line({ class: `cm-goes-on-${chars}` }),
}));

class Marks implements PluginValue {
  decorations: DecorationSet;

  constructor(view: EditorView) {
    this.decorations = marksOf(view);
  }

  update({ docChanged, viewportChanged, view }: ViewUpdate): void {
    if (docChanged || viewportChanged) this.decorations = marksOf(view);
  }
}

function marksOf({ state: { doc }, visibleRanges }: EditorView): DecorationSet {
  const marks: Range<Decoration>[] = [];
  for (const { from, to } of visibleRanges) {
    for (let at = from; at <= to;) {
      const line = doc.lineAt(at);
      const mark = INDENTS[Math.min(line.text.search(/[^ ]|$/), INDENT_MAX)]?.mark;
      if (mark !== undefined) marks.push(mark.range(line.from));
      at = line.to + 1;
    }
  }
  return Decoration.set(marks);
}

export const wrappedLines: Extension = [
  EditorView.lineWrapping,
  ViewPlugin.fromClass(Marks, { decorations: (plugin) => plugin.decorations }),
  EditorView.theme(
    Object.fromEntries(
      INDENTS.map(({ name }, chars) => [
        `.cm-line.${name}`,
        { paddingInlineStart: `calc(6px + ${chars + FURTHER}ch)`, textIndent: `-${chars + FURTHER}ch` },
      ]),
    ),
  ),
];
