/** A version of the configuration as a tree to plan, so that it changes what going back to it would. Pure. */
import { isFields, withValueAt, type Fields } from '../save/merge-patch.ts';

/**
 * @param before the declared tree of the version
 * @param now the declared tree in force
 * @param deletesKeys whether keys created since are deleted
 */
export function declaredRollBack(before: Fields, now: Fields, deletesKeys: boolean): Fields {
  const then = fieldsAt(before, 'apps');
  const apps = Object.entries(fieldsAt(now, 'apps')).map(([slug, item]) => {
    const old = then[slug];
    // A plan without an owner leaves apps alone that it does not name; one without versions serves as little.
    if (!isFields(old)) return [slug, withValueAt(item as Fields, ['versions'], undefined)] as const;
    return [
      slug,
      { ...old, keys: keysOf(fieldsAt(old, 'keys'), fieldsAt(item, 'keys'), deletesKeys) },
    ] as const;
  });
  return { apps: { ...then, ...Object.fromEntries(apps) } };
}

/** Deleted keys do not come back. */
function keysOf(then: Fields, now: Fields, deletesKeys: boolean): Fields {
  const kept = Object.entries(now).filter(([label]) => !deletesKeys || Object.hasOwn(then, label));
  return Object.fromEntries(
    kept.map(([label, item]) => [label, Object.hasOwn(then, label) ? then[label] : item]),
  );
}

function fieldsAt(value: unknown, name: string): Fields {
  const found = isFields(value) ? value[name] : undefined;
  return isFields(found) ? found : {};
}
