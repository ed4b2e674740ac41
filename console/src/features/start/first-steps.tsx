/** Shown in place of a list of apps, or of traffic, when there is none yet: leads to the first app. */
import type { ReactNode } from 'react';
import { useMay } from '../../page/session.ts';
import { firstStepsWords } from '../../text/start.ts';
import { ButtonLink } from '../../ui/controls/button.tsx';
import { EmptyState } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';

export function FirstSteps(): ReactNode {
  const mayMake = useMay('editor');
  return (
    <Panel isFlush>
      <EmptyState
        title={firstStepsWords.title}
        actions={
          mayMake && (
            <ButtonLink look="main" to="/start">
              {firstStepsWords.action}
            </ButtonLink>
          )
        }
      >
        <p>{mayMake ? firstStepsWords.text : firstStepsWords.viewer}</p>
      </EmptyState>
    </Panel>
  );
}
