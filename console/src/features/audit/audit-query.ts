/** The filters of the audit log: in the address of the page as typed, and in the form of the API. */
import { useSearchText } from '../../page/search-text.ts';
import type { Operations } from '../../api/schema.ts';
import { apiTime } from '../../ui/controls/local-time.ts';

export type AuditQuery = Operations['GET /audit']['query'];

const ROWS = 50;

export function useAuditQuery(): AuditQuery {
  const [actor] = useSearchText('actor');
  const [action] = useSearchText('action');
  const [type] = useSearchText('type');
  const [name] = useSearchText('name');
  const [since] = useSearchText('since');
  const [until] = useSearchText('until');
  return {
    limit: ROWS,
    order: 'newest_first',
    ...given('actor', actor.trim()),
    ...given('action', action.trim()),
    ...given('resource_type', type),
    ...given('resource_name', name.trim()),
    ...given('since', apiTime(since) ?? ''),
    ...given('until', apiTime(until) ?? ''),
  };
}

function given(name: keyof AuditQuery, value: string): AuditQuery {
  return value === '' ? {} : { [name]: value };
}
