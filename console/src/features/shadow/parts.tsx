/** Names of parts of policies, and the parts that are in shadow mode. */
import type { ReactNode } from 'react';
import { policyWords } from '../../text/policies.ts';
import { shadowWords } from '../../text/shadow.ts';
import { Badge } from '../../ui/display/badge.tsx';
import styles from './shadow.module.css';

/** For example "Rate limit"; a part that this console does not know has its own name. */
export function partTitle(part: string): string {
  const titles: Readonly<Record<string, { readonly title: string }>> = policyWords.parts;
  return titles[part]?.title ?? part;
}

export function Parts({ parts }: { readonly parts: readonly string[] }): ReactNode {
  if (parts.length === 0) return <span className={styles['soft']}>{shadowWords.noneInShadow}</span>;
  return (
    <span className={styles['parts']}>
      {parts.map((part) => (
        <Badge key={part} tone="warn">
          {partTitle(part)}
        </Badge>
      ))}
    </span>
  );
}
