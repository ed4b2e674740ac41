/** The same change as curl, as a command and, of configuration, as YAML. What writes these is loaded after the page. */
import { Suspense, type ReactNode } from 'react';
import { saveWords as say } from '../../text/save.ts';
import { later } from '../../ui/overlay/later.ts';
import type { SameChangeProps } from './same-change-props.ts';
import styles from './save.module.css';

const SameChangeTexts = later(() => import('./same-change-texts.tsx'));

interface ViewProps extends SameChangeProps {
  /** Default: that it is the same change. */
  readonly summary?: string;
}

export function SameChange({ summary, ...props }: ViewProps): ReactNode {
  const usual = props.isConfiguration === false ? say.sameCall : say.same;
  return (
    <details className={styles['same']}>
      <summary>{summary ?? usual}</summary>
      <Suspense>
        <SameChangeTexts {...props} />
      </Suspense>
    </details>
  );
}
