import { describe, expect, it } from 'vitest';
import { curlOf } from './same-change.ts';

describe('curlOf', () => {
  it('is the call, with the precondition and the body', () => {
    const text = curlOf(
      'PATCH /apps/{app_id}',
      { path: { app_id: 'a b' }, ifMatch: '"x"', body: { name: "it's" } },
      'http://gate',
    );
    expect(text).toContain(`curl -X PATCH 'http://gate/api/v1/apps/a%20b'`);
    expect(text).toContain(`-H 'If-Match: "x"'`);
    expect(text).toContain('application/merge-patch+json');
  });

  it('writes into a file where the answer is one', () => {
    expect(curlOf('POST /profiles', { body: {} }, 'http://gate', 'a.cpuprofile')).toContain(
      `-o 'a.cpuprofile'`,
    );
    expect(curlOf('POST /profiles', { body: {} }, 'http://gate')).not.toContain('-o');
  });
});
