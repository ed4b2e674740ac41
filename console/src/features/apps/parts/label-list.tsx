/** Labels of a record. */
import type { ReactNode } from 'react';
import { words } from '../../../text/words.ts';
import { Badge } from '../../../ui/display/badge.tsx';

export function LabelList({ labels }: { readonly labels: Readonly<Record<string, string>> }): ReactNode {
  const pairs = Object.entries(labels);
  if (pairs.length === 0) return words.none;
  return pairs.map(([name, value]) => (
    <span key={name}>
      <Badge isLong>{value === '' ? name : `${name}=${value}`}</Badge>{' '}
    </span>
  ));
}
