import { describe, expect, it } from 'vitest';
import { counted } from './counted.ts';

describe('counted', () => {
  it.each([
    [counted(0, 'event'), '0 events'],
    [counted(1, 'event'), '1 event'],
    [counted(2, 'event'), '2 events'],
    [counted(1, 'entry', 'entries'), '1 entry'],
    [counted(3, 'key was', 'keys were'), '3 keys were'],
  ])('%s', (text, expected) => {
    expect(text).toBe(expected);
  });
});
