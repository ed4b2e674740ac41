import { expect, it } from 'vitest';
import { authenticatesConnection } from './connection-credentials.ts';

it.each(['NTLM TlRMTVNTUAAB', 'ntlm', 'Negotiate YII=', 'nEGOTIATE\tYII=', 'Kerberos YII=', 'NTLM,Basic'])(
  '%j authenticates the connection',
  (value) => expect(authenticatesConnection(value)).toBe(true),
);

it.each([
  undefined,
  '',
  'Basic bjp0',
  'Bearer ntlm',
  'Digest username="n"',
  'Negotiated x',
  'NTLM2 x',
  'n',
  'k',
])('%j does not', (value) => expect(authenticatesConnection(value)).toBe(false));
