import { describe, expect, it } from 'vitest';
import { backendFields } from './backend-url.ts';

describe('--backend', () => {
  it.each([
    [
      'http://10.0.0.5:8080/base/',
      { backend_scheme: 'http', backend_host: '10.0.0.5', backend_port: 8080, backend_base_path: '/base' },
    ],
    ['https://[::1]', { backend_scheme: 'https', backend_host: '::1', backend_port: 443 }],
    ['unix:/run/billing.sock', { backend_scheme: 'http', backend_host: 'unix:/run/billing.sock' }],
    ['unix:billing.sock', { backend_scheme: 'http', backend_host: 'unix:billing.sock' }],
    ['http://unix:/run/billing.sock', { backend_scheme: 'http', backend_host: 'unix:/run/billing.sock' }],
    ['https://unix:/run/billing.sock', { backend_scheme: 'https', backend_host: 'unix:/run/billing.sock' }],
    [
      'http://unix/base',
      { backend_scheme: 'http', backend_host: 'unix', backend_port: 80, backend_base_path: '/base' },
    ],
  ])('%s', (text, fields) => {
    expect(backendFields(text)).toEqual(fields);
  });

  it.each(['billing.internal', 'ftp://billing', 'http://user@billing', 'http://billing?x'])(
    'refuses %s',
    (text) => {
      expect(() => backendFields(text)).toThrow(/--backend/);
    },
  );
});
