import { describe, expect, it } from 'vitest';
import { readTargets, targetLines } from './target-lines.ts';

describe('targets as lines', () => {
  it('are read as they are shown', () => {
    const targets = [
      { host: '10.0.0.1', port: 8080, weight: 100 },
      { host: '::1', port: 443, weight: 5, zone: 'eu-1a' },
      { host: 'backend', port: 80, weight: 0 },
    ];
    const text = '10.0.0.1:8080\n[::1]:443 weight=5 zone=eu-1a\nbackend:80 weight=0';
    expect(targetLines(targets)).toBe(text);
    expect(targetLines(readTargets(text) ?? [])).toBe(text);
  });

  it('have no port of a Unix socket, which has none', () => {
    const targets = [{ host: 'unix:/run/a.sock', port: 80 }, { host: 'unix:/run/b.sock' }];
    const text = 'unix:/run/a.sock\nunix:/run/b.sock';
    expect(targetLines(targets)).toBe(text);
    expect(readTargets(text)).toEqual([{ host: 'unix:/run/a.sock' }, { host: 'unix:/run/b.sock' }]);
  });

  it('leave out what is not typed, and empty lines', () => {
    expect(readTargets('\n  backend \n')).toEqual([{ host: 'backend' }]);
    expect(readTargets(' \n')).toBeNull();
  });

  it('give what cannot be read to the API, which refuses it', () => {
    expect(readTargets('a:99999999 weight=x size=3')).toEqual([
      { host: 'a:99999999', weight: 'x', size: '3' },
    ]);
  });
});
