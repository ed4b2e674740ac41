/** Copies a text; says for a moment that it has. */
import { useEffect, useState, type ReactNode } from 'react';
import { words } from '../../text/words.ts';
import { Button } from './button.tsx';

const SHOWN_MS = 2_000;

export function CopyButton({
  text,
  label = words.copy,
}: {
  readonly text: string;
  readonly label?: string;
}): ReactNode {
  const [outcome, setOutcome] = useState<'none' | 'copied' | 'failed'>('none');
  useEffect(() => {
    if (outcome === 'none') return undefined;
    const timer = setTimeout(() => setOutcome('none'), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  return (
    <Button
      isSmall
      onClick={() => {
        copyText(text).then(
          () => setOutcome('copied'),
          () => setOutcome('failed'),
        );
      }}
    >
      <span aria-live="polite">
        {outcome === 'copied' ? words.copied : outcome === 'failed' ? words.notCopied : label}
      </span>
    </Button>
  );
}

/** Browsers have `navigator.clipboard` only under TLS and on loopback; elsewhere a selected text is copied. */
async function copyText(text: string): Promise<void> {
  if (window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  document.body.append(area);
  area.select();
  const isDone = document.execCommand('copy');
  area.remove();
  if (!isDone) throw new Error('The browser did not copy the text');
  return undefined;
}
