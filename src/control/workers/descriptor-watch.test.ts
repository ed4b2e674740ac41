import { describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { createLogger } from '../../observe/log.ts';
import type { Descriptors } from '../../lib/listeners.ts';
import { DescriptorWatch } from './descriptor-watch.ts';

function watching() {
  const lines: string[] = [];
  let count: Descriptors | undefined = { open: 20, limit: 100 };
  const write = (line: string): void => void lines.push((JSON.parse(line) as { msg: string }).msg);
  const log = createLogger({ level: 'info', format: 'json', output: { write }, clock: systemClock });
  const watch = new DescriptorWatch(log, () => count);
  return {
    lines,
    look: (open: number | undefined, times = 1) => {
      count = open === undefined ? undefined : { open, limit: 100 };
      for (let time = 0; time < times; time++) watch.look();
    },
  };
}

describe('the watch of file descriptors', () => {
  it('warns when few descriptors are left, rarely repeats it, and logs the recovery', () => {
    const { lines, look } = watching();
    look(87, 3);
    expect(lines).toEqual([]);
    look(88, 10);
    expect(lines).toEqual([expect.stringContaining('nearly used up')]);
    look(100);
    expect(lines).toHaveLength(2);
    look(50, 5);
    expect(lines.slice(2)).toEqual(['there are enough file descriptors again']);
    look(99);
    expect(lines).toHaveLength(4);
  });

  it('logs nothing if it cannot count', () => {
    const { lines, look } = watching();
    look(undefined, 20);
    expect(lines).toEqual([]);
  });
});
