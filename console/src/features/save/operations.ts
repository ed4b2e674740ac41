/** The records that the console writes, by the templates of their paths, and which of them a path is of. Pure. */
import { OPERATIONS as BELOW_APPS } from '../apps/resource-path.ts';

export const OPERATIONS = {
  ...BELOW_APPS,
  key: '/apps/{app_id}/tokens/{token_id}',
  adminToken: '/admin/tokens/{admin_token_id}',
  webhook: '/webhooks/{webhook_id}',
} as const;

interface Write {
  readonly operation: string;
  readonly options: { readonly path?: Readonly<Record<string, string>> | undefined };
}

/** A write with the path of a record, as fixes have it, by its template and the parameters of that. */
export function byTemplate<One extends Write>({
  operation,
  options,
}: One): Pick<One, 'operation' | 'options'> {
  const [method = '', path = ''] = operation.split(' ');
  if (path.includes('{')) return { operation, options };
  const segments = path.split('/');
  for (const item of Object.values(OPERATIONS)) {
    // A creation, too, which has the path of a list.
    for (const template of [item, item.slice(0, item.lastIndexOf('/'))]) {
      const names = template.split('/');
      const isOne =
        names.length === segments.length &&
        names.every((name, index) => name.startsWith('{') || name === segments[index]);
      if (!isOne) continue;
      const given = names.flatMap((name, index) =>
        name.startsWith('{') ? [[name.slice(1, -1), decodeURIComponent(segments[index] ?? '')]] : [],
      );
      return {
        operation: `${method} ${template}`,
        options: { ...options, path: Object.fromEntries(given) as Record<string, string> },
      };
    }
  }
  return { operation, options };
}
