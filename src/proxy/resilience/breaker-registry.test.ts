import type { BreakerSlot } from '../../config/types.ts';
import { describe, expect, it } from 'vitest';
import { createBreakerMemory } from './breaker.ts';
import { BreakerRegistry } from './breaker-registry.ts';

const revision = (id: string): { readonly id: string; breakerSlot: BreakerSlot | undefined } => ({
  id,
  breakerSlot: undefined,
});

describe('the handles on breakers', () => {
  it('exist once per revision, also for a later version of its record', () => {
    const handles = new BreakerRegistry();
    handles.add('a', createBreakerMemory());
    handles.add('b', createBreakerMemory());
    const a = revision('a');
    const breaker = handles.of(a);
    expect(breaker).toBeDefined();
    expect(handles.of(a)).toBe(breaker);
    expect(handles.of(revision('a'))).toBe(breaker);
    expect(handles.byId('a')).toBe(breaker);
    expect(handles.of(revision('b'))).not.toBe(breaker);
  });

  it('stay the same when the revision is added again', () => {
    const handles = new BreakerRegistry();
    const a = revision('a');
    handles.add('a', createBreakerMemory());
    const breaker = handles.of(a);
    handles.add('a', createBreakerMemory());
    expect(handles.of(a)).toBe(breaker);
  });

  it('are replaced after their removal, even if the revision had cached one', () => {
    const handles = new BreakerRegistry();
    const a = revision('a');
    expect(handles.of(a)).toBeUndefined();
    handles.add('a', createBreakerMemory());
    const first = handles.of(a);
    expect(first).toBeDefined();
    handles.delete('a');
    expect([handles.of(a), handles.of(a), handles.byId('a')]).toEqual([undefined, undefined, undefined]);
    const memory = createBreakerMemory();
    handles.add('a', memory);
    expect(handles.of(a)?.number).not.toBe(first?.number);
    handles.delete('a');
    handles.add('a', memory);
    expect(handles.of(a)).toBe(handles.byId('a'));
    handles.delete('unknown');
  });
});
