import { describe, expect, it } from 'vitest';
import { forwardableTrailers, mayBeTrailer } from './trailers.ts';

describe('trailers', () => {
  it.each([
    'Content-Type',
    'content_type',
    'Set_Cookie',
    'SET.COOKIE',
    'Cache_Control',
    'WWW_Authenticate',
    'Content-Length',
    'Content_Length',
    'X_Headgate_Key_Id',
  ])('have no %s, whichever spelling a reader takes for it', (name) => {
    expect(forwardableTrailers(`${name}: v\r\nX-Sum: 1\r\n`)).toBe('X-Sum: 1\r\n');
    expect(mayBeTrailer(name)).toBe(false);
  });

  it.each(['X-Sum', 'x_sum', 'Server-Timing', 'ETag', 'grpc-status'])('may have %s', (name) => {
    expect(forwardableTrailers(`${name}: v\r\n`)).toBe(`${name}: v\r\n`);
    expect(mayBeTrailer(name)).toBe(true);
  });
});
