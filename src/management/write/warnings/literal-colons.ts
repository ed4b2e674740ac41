/** Warnings of paths with segments such as `:id`. Pure. */
import { warning, type Warning } from '../../../model/warnings.ts';

/**
 * `:id` is how many routers write a parameter. Here no request but `/:id` itself would match it.
 * @param paths by the name of their field
 */
export function colonWarnings(paths: Readonly<Record<string, string | null>>): Warning[] {
  return Object.entries(paths).flatMap(([field, path]) => {
    const segment = path?.split('/').find((each) => /^:[A-Za-z_]/.test(each));
    if (segment === undefined) return [];
    const what = `The segment "${segment}" of ${field} is literal text, not a parameter`;
    return [warning('literal_colon', `/${field}`, what)];
  });
}
