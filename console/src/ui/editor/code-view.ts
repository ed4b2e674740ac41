/**
 * The editor itself: CodeMirror in a shadow root, where its styles are adopted style sheets, which the content security
 * policy allows. Loaded when an editor is shown.
 */
import {
  autocompletion,
  completionKeymap,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Problem } from './check-value.ts';
import type { JsonSchema } from './json-schema.ts';
import { wrappedLines } from './wrapped-lines.ts';
import { suggestionsAt } from './yaml-completion.ts';
import { CHECKED_CHARS_MAX, LONG_CHARS, placeOf, readYaml } from './yaml-places.ts';

export interface CodeViewOptions {
  readonly text: string;
  readonly label: string;
  readonly describedBy: string;
  readonly isReadOnly: boolean;
  readonly onText: (text: string) => void;
  readonly schema: () => JsonSchema | undefined;
}

export interface CodeView {
  setText(text: string): void;
  setReadOnly(isReadOnly: boolean): void;
  /** Marks what is wrong at the lines of the pointers; errors of the syntax are found here. */
  setProblems(problems: readonly Problem[]): void;
  destroy(): void;
}

/** The reader's pause after which a long text is checked. */
const PAUSE_MS = 600;

const THEME = EditorView.theme({
  '&': {
    backgroundColor: 'var(--surface)',
    border: '1px solid var(--line-strong)',
    borderRadius: 'var(--radius)',
    color: 'var(--text)',
    fontSize: 'var(--size-small)',
    maxHeight: 'var(--editor-height, 70vh)',
    minHeight: '8rem',
  },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--font-mono)', lineHeight: '1.5', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)', minHeight: '8rem' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--surface-sunken)',
    borderRight: '1px solid var(--line)',
    color: 'var(--text-soft)',
  },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': {
    backgroundColor: 'color-mix(in srgb, var(--surface-sunken) 55%, transparent)',
  },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-soft)',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--surface-raised)',
    border: '1px solid var(--line-strong)',
    borderRadius: 'var(--radius)',
    color: 'var(--text)',
    maxWidth: 'min(28rem, 90vw)',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--text-on-accent)',
  },
  '.cm-completionDetail': { fontStyle: 'normal', opacity: '0.85' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  // The editor's own are images in line, which the content security policy refuses.
  '.cm-lintRange-error, .cm-lintRange-active': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--bad)',
    textUnderlineOffset: '3px',
  },
  '.cm-lint-marker-error': {
    backgroundColor: 'var(--bad)',
    borderRadius: '50%',
    content: 'normal',
    height: '0.7em',
    margin: '0.4em 0.1em',
    width: '0.7em',
  },
  '.cm-panels': { backgroundColor: 'var(--surface-sunken)', color: 'var(--text)' },
});

const HIGHLIGHT = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent-strong)' },
  { tag: tags.string, color: 'var(--info)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: tags.comment, color: 'var(--text-soft)', fontStyle: 'italic' },
  { tag: tags.invalid, color: 'var(--bad)' },
]);

export function createCodeView(host: HTMLElement, options: CodeViewOptions): CodeView {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open', delegatesFocus: true });
  const writing = new Compartment();
  // A text that is set from outside does not count as typing.
  let isSetting = false;
  let waiting: ReturnType<typeof setTimeout> | undefined;
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        basics(options),
        writing.of(writable(!options.isReadOnly)),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged && !isSetting) options.onText(state.doc.toString());
        }),
      ],
    }),
  });
  return {
    setText(text) {
      const old = view.state.doc.toString();
      if (old === text) return;
      isSetting = true;
      view.dispatch({ changes: smallestChange(old, text) });
      isSetting = false;
    },
    setReadOnly: (isReadOnly) => view.dispatch({ effects: writing.reconfigure(writable(!isReadOnly)) }),
    setProblems: (problems) => {
      clearTimeout(waiting);
      const mark = (): void =>
        view.dispatch(setDiagnostics(view.state, diagnosticsOf(view.state.doc.toString(), problems)));
      if (view.state.doc.length > LONG_CHARS) waiting = setTimeout(mark, PAUSE_MS);
      else mark();
    },
    destroy: () => {
      clearTimeout(waiting);
      view.destroy();
    },
  };
}

function basics({ label, describedBy, schema }: CodeViewOptions): Extension {
  return [
    lineNumbers(),
    lintGutter(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    yaml(),
    syntaxHighlighting(HIGHLIGHT),
    autocompletion({ override: [(context) => complete(context, schema())], icons: false }),
    keymap.of([...completionKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, indentWithTab]),
    wrappedLines,
    EditorView.contentAttributes.of({
      'aria-label': label,
      'aria-description': describedBy,
      tabindex: '0',
    }),
    THEME,
  ];
}

function writable(mayWrite: boolean): Extension {
  return [EditorState.readOnly.of(!mayWrite), EditorView.editable.of(mayWrite)];
}

/** The equal text at the start and the end stays untouched, which keeps the cursor and the scroll position. */
function smallestChange(old: string, fresh: string): { from: number; to: number; insert: string } {
  let from = 0;
  const most = Math.min(old.length, fresh.length);
  while (from < most && old[from] === fresh[from]) from += 1;
  let end = 0;
  while (end < most - from && old[old.length - 1 - end] === fresh[fresh.length - 1 - end]) end += 1;
  return { from, to: old.length - end, insert: fresh.slice(from, fresh.length - end) };
}

function diagnosticsOf(text: string, problems: readonly Problem[]): Diagnostic[] {
  if (text.length > CHECKED_CHARS_MAX && problems.length === 0) return [];
  const read = readYaml(text);
  const syntax = read.problems.map((problem): Diagnostic => ({ ...problem, severity: 'error' }));
  if (syntax.length > 0) return syntax;
  return problems
    .map(({ pointer, message }): Diagnostic => ({ ...placeOf(read, pointer), severity: 'error', message }))
    .toSorted((a, b) => a.from - b.from);
}

function complete(context: CompletionContext, schema: JsonSchema | undefined): CompletionResult | null {
  if (schema === undefined) return null;
  if (context.state.doc.length > (context.explicit ? CHECKED_CHARS_MAX : LONG_CHARS)) return null;
  const found = suggestionsAt(context.state.doc.toString(), context.pos, schema);
  if (found === undefined || (!context.explicit && found.from === context.pos)) return null;
  return {
    from: found.from,
    options: found.options.map(({ label, insert, detail, info }) => ({
      label,
      apply: insert,
      detail,
      ...(info !== '' && { info }),
    })),
    validFor: /^[\w.$-]*$/,
  };
}
