import { describe, expect, it } from 'vitest';
import { NO_IO } from '../idle-program.ts';
import { planText } from './plan-text.ts';

describe('a plan in a terminal', () => {
  it('shows nothing that the terminal would obey', () => {
    // U+009B begins a control sequence as ESC [ does, and JSON does not escape it.
    const evil = 'x\u009B2J\u007F';
    const text = planText(
      {
        base_version: 1,
        totals: { create: 0, update: 1, delete: 0 },
        changes: [
          {
            change: 'update',
            type: 'app',
            path: [evil],
            fields: { [evil]: { before: evil, after: [evil] } },
          },
        ],
        created_keys: [{ app: evil, name: evil, token: evil }],
      },
      true,
      NO_IO,
    );
    expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    expect(text).toContain('"x?2J?" → ["x?2J?"]');
    expect(text).toContain('Key x?2J? of x?2J?');
  });
});
