/** A part of a page with a title, and the head of a page. */
import { useEffect, useId, type ReactNode } from 'react';
import styles from './panel.module.css';

interface PanelProps {
  readonly title?: ReactNode;
  /** Buttons and choices for the panel. */
  readonly actions?: ReactNode;
  readonly isFlush?: boolean;
  readonly children: ReactNode;
}

export function Panel({ title, actions, isFlush = false, children }: PanelProps): ReactNode {
  const id = useId();
  return (
    <section className={styles['panel']} aria-labelledby={title === undefined ? undefined : id}>
      {(title !== undefined || actions !== undefined) && (
        <div className={styles['head']}>
          {title !== undefined && <h2 id={id}>{title}</h2>}
          {actions !== undefined && <div className={styles['actions']}>{actions}</div>}
        </div>
      )}
      <div className={isFlush ? styles['flush'] : styles['body']}>{children}</div>
    </section>
  );
}

/** A panel in one line: there is nothing to list. */
export function QuietPanel({
  title,
  children,
}: {
  readonly title: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  const id = useId();
  return (
    <section className={styles['quiet']} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <span>{children}</span>
    </section>
  );
}

interface PageHeadProps {
  readonly title: string;
  /** Stands before the title: where the page is. */
  readonly trail?: ReactNode;
  readonly summary?: ReactNode;
  readonly actions?: ReactNode;
}

/** Also sets the title of the browser's tab. */
export function PageHead({ title, trail, summary, actions }: PageHeadProps): ReactNode {
  useEffect(() => {
    document.title = `${title} · Headgate`;
  }, [title]);
  return (
    <header className={styles['page']}>
      <div className={styles['words']}>
        {trail !== undefined && <div className={styles['trail']}>{trail}</div>}
        <h1>{title}</h1>
        {summary !== undefined && <p className={styles['summary']}>{summary}</p>}
      </div>
      {actions !== undefined && <div className={styles['actions']}>{actions}</div>}
    </header>
  );
}

/** A part of a panel that has a heading of its own. */
export function Section({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <div className={styles['section']}>
      <h3>{title}</h3>
      {children}
    </div>
  );
}

/** Panels below each other. */
export function Stack({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className={styles['stack']}>{children}</div>;
}

/** Panels side by side where there is room for it. */
export function Columns({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className={styles['columns']}>{children}</div>;
}
