/** A text editor for YAML, which knows a schema: completion, and problems at their lines. */
import { useEffect, useEffectEvent, useRef, useState, type ReactNode } from 'react';
import { editorWords } from '../../text/editor.ts';
import type { Problem } from './check-value.ts';
import type { CodeView, createCodeView } from './code-view.ts';
import styles from './code-editor.module.css';
import type { JsonSchema } from './json-schema.ts';

interface CodeEditorProps {
  /** For screen readers. */
  readonly label: string;
  readonly value: string;
  readonly onValue: (text: string) => void;
  readonly schema?: JsonSchema | undefined;
  readonly problems?: readonly Problem[];
  readonly isReadOnly?: boolean;
}

const NONE: readonly Problem[] = [];

export function CodeEditor({
  label,
  value,
  onValue,
  schema,
  problems = NONE,
  isReadOnly = false,
}: CodeEditorProps): ReactNode {
  const host = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<CodeView>();
  const [error, setError] = useState<Error>();
  // Texts that were typed and have not come back as the value: when one does, later ones must not be undone by it.
  const pending = useRef<string[]>([]);
  const onText = useEffectEvent((text: string) => {
    pending.current.push(text);
    onValue(text);
  });
  const currentSchema = useEffectEvent(() => schema);
  const start = useEffectEvent((create: typeof createCodeView, place: HTMLElement): CodeView =>
    create(place, {
      text: value,
      label,
      describedBy: editorWords.keys,
      isReadOnly,
      onText,
      schema: currentSchema,
    }),
  );
  useEffect(() => {
    let made: CodeView | undefined;
    let isGone = false;
    import('./code-view.ts')
      .then((module) => {
        if (isGone || host.current === null) return;
        made = start(module.createCodeView, host.current);
        setView(made);
      })
      .catch((cause: unknown) => setError(cause as Error));
    return () => {
      isGone = true;
      made?.destroy();
      setView(undefined);
    };
  }, []);
  useEffect(() => {
    const index = pending.current.lastIndexOf(value);
    pending.current = pending.current.slice(index + 1);
    if (index < 0) {
      pending.current = [];
      view?.setText(value);
    }
  }, [view, value]);
  useEffect(() => view?.setReadOnly(isReadOnly), [view, isReadOnly]);
  useEffect(() => view?.setProblems(problems), [view, problems, value]);
  return (
    <div className={styles['editor']}>
      <div ref={host} />
      {view === undefined && error === undefined && <p role="status">{editorWords.loading}</p>}
      {error !== undefined && (
        // A text field replaces an editor that could not be loaded.
        <textarea
          className={styles['plain']}
          aria-label={label}
          value={value}
          readOnly={isReadOnly}
          rows={20}
          onChange={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </div>
  );
}
