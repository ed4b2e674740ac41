/** The current problems in words, most severe first, each with the page where it can be fixed. */
import { useState, type ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import type { CurrentProblem } from '../../api/schema.ts';
import { problemWords } from '../../text/overview.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Badge, type Tone } from '../../ui/display/badge.tsx';
import { Note } from '../../ui/display/notes.tsx';
import { Time } from '../../ui/display/time.tsx';
import { ProblemAction } from './problem-link.tsx';
import styles from './overview.module.css';

const EVERY_MS = 5_000;
/** Shown at first. */
const SHOWN = 5;

export const TONES: Readonly<Record<CurrentProblem['severity'], Tone>> = {
  critical: 'bad',
  warning: 'warn',
  info: 'info',
};

export function useProblems(): ReturnType<typeof useRead<'GET /problems'>> {
  return useRead('GET /problems', {}, { everyMs: EVERY_MS });
}

export function ProblemList({ problems }: { readonly problems: readonly CurrentProblem[] }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  if (problems.length === 0) return <Note tone="good">{problemWords.none}</Note>;
  const shown = isWhole ? problems : problems.slice(0, SHOWN);
  const rest = problems.length - shown.length;
  return (
    <section aria-label={problemWords.title} className={styles['problems']}>
      <ul>
        {shown.map((problem) => (
          <ProblemItem key={`${problem.code} ${problem.node} ${problem.detail}`} problem={problem} />
        ))}
      </ul>
      {rest > 0 && (
        <div>
          <Button isSmall onClick={() => setWhole(true)}>
            {problemWords.more(rest)}
          </Button>
        </div>
      )}
    </section>
  );
}

function ProblemItem({ problem }: { readonly problem: CurrentProblem }): ReactNode {
  const { severity, title, detail, since, node, link } = problem;
  return (
    <li className={styles['problem']} data-severity={severity}>
      <div className={styles['problemHead']}>
        <Badge tone={TONES[severity]}>{problemWords.severities[severity]}</Badge>
        <h2>{title}</h2>
        <span className={styles['soft']}>
          {since !== null && (
            <>
              {problemWords.since} <Time at={since} />,{' '}
            </>
          )}
          {problemWords.on(node)}
        </span>
      </div>
      <p>{detail}.</p>
      <div>
        <ProblemAction link={link} />
      </div>
    </li>
  );
}
