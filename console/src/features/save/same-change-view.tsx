/** The same change as curl, as a command and as YAML. What writes these is loaded after the page. */
import { Suspense, type ReactNode } from 'react';
import { saveWords as say } from '../../text/save.ts';
import { later } from '../../ui/overlay/later.ts';
import type { SameChangeProps } from './same-change-props.ts';
import styles from './save.module.css';

const SameChangeTexts = later(() => import('./same-change-texts.tsx'));

export function SameChange(props: SameChangeProps): ReactNode {
  return (
    <details className={styles['same']}>
      <summary>{say.same}</summary>
      <Suspense>
        <SameChangeTexts {...props} />
      </Suspense>
    </details>
  );
}
