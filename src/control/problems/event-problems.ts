/** Problems with webhooks that fail or have given up events, and events that could not be recorded. */
import { WAITING_COUNTED_MAX, type DeliveryState } from '../../storage/delivery-store.ts';
import { found, type FoundProblem } from './found-problem.ts';
import { counted } from '../../lib/text/counted.ts';

/** A single failure that the next try repairs is not a problem. */
const FAILURES_MIN = 3;

export function webhookProblems(states: readonly DeliveryState[]): FoundProblem[] {
  const link = { kind: 'webhooks' } as const;
  const problems: FoundProblem[] = [];
  for (const { webhook, progress, waiting } of states) {
    if (webhook.disabled_reason !== null) {
      const detail = `${webhook.name} was switched off: ${webhook.disabled_reason}. ${waitText(waiting)}`;
      problems.push(found('warning', 'webhook_failing', detail, link, progress.failed_at_ms ?? undefined));
    } else if (webhook.is_active && progress.failures >= FAILURES_MIN) {
      const detail = `${webhook.name} failed ${counted(progress.failures, 'time')} in a row: ${progress.last_error}. ${waitText(waiting)}`;
      problems.push(found('warning', 'webhook_failing', detail, link, progress.failed_at_ms ?? undefined));
    }
  }
  const given = states.filter(({ deadLetters }) => deadLetters > 0);
  const [first] = given;
  if (first !== undefined) {
    const total = given.reduce((sum, { deadLetters }) => sum + deadLetters, 0);
    const names = given.slice(0, 3).map(({ webhook }) => webhook.name);
    const detail = `${counted(total, 'event')} did not arrive at ${names.join(', ')}${given.length > 3 ? ' and others' : ''}; ${total === 1 ? 'it' : 'they'} can be sent again or forgotten`;
    problems.push(found('info', 'events_given_up', detail, link));
  }
  return problems;
}

function waitText(waiting: number): string {
  return waiting === WAITING_COUNTED_MAX
    ? `${waiting} or more events wait`
    : counted(waiting, 'event waits', 'events wait');
}
