/** The settings that match a search, and their groups. Pure. */
import type { Setting } from '../../api/schema.ts';

/** Every word of the search must occur in the name, the text, the group or the value; case does not matter. */
export function matching(settings: readonly Setting[], search: string, onlySet: boolean): Setting[] {
  const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
  return settings.filter((setting) => {
    if (onlySet && setting.source === 'default') return false;
    const { name, doc, group, value } = setting;
    const text = `${name} ${doc} ${group} ${String(value ?? '')}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

/** In the order of the settings. */
export function groupsOf(settings: readonly Setting[]): (readonly [string, readonly Setting[]])[] {
  const groups = new Map<string, Setting[]>();
  for (const setting of settings) {
    const known = groups.get(setting.group);
    if (known === undefined) groups.set(setting.group, [setting]);
    else known.push(setting);
  }
  return [...groups];
}
