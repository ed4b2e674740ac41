import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandOf } from './same-command.ts';
import { quoted, word } from './shell-words.ts';

describe('commandOf', () => {
  const endpoint = '/apps/{app_id}/versions/{version_id}/revisions/{revision_id}/endpoints/{endpoint_id}';
  it.each([
    [
      'PATCH /apps/{app_id}',
      { path: { app_id: 'shop' }, body: { default_policy: { rate_limit: { requests: 5 }, cors: null } } },
      'headgate apps edit shop policy.rate_limit.requests=5 policy.cors=null',
    ],
    [
      `PATCH ${endpoint}`,
      {
        path: { app_id: 'shop', version_id: 'v1', revision_id: 'r1', endpoint_id: 'GET /items/{id}' },
        body: { policy_override: { required_scopes: ['a b'] } },
      },
      `headgate endpoints edit shop v1 r1 'GET /items/{id}' 'policy.required_scopes=["a b"]'`,
    ],
    [
      'PATCH /apps/{app_id}',
      { path: { app_id: 'shop' }, body: { description: '@home' } },
      `headgate apps edit shop --file - <<'EOF'\ndescription: "@home"\nEOF`,
    ],
    [
      'DELETE /apps/{app_id}',
      { path: { app_id: 'shop' }, query: { cascade: true } },
      'headgate apps delete shop --cascade',
    ],
    [
      'PUT /apps/{app_id}/versions/{version_id}/traffic',
      { path: { app_id: 'shop', version_id: 'v1' }, body: { stable: 90, canary: 10 } },
      'headgate traffic set shop v1 stable=90 canary=10',
    ],
    [
      'DELETE /apps/{app_id}/versions/{version_id}',
      { path: { app_id: 'shop', version_id: '--url' }, query: { cascade: true } },
      `headgate versions delete --cascade -- shop '--url'`,
    ],
    [
      'PATCH /apps/{app_id}/versions/{version_id}',
      { path: { app_id: 'shop', version_id: '-v' }, body: { successor: '@home' } },
      `headgate versions edit --file - -- shop '-v' <<'EOF'\nsuccessor: "@home"\nEOF`,
    ],
    [
      'PUT /apps/{app_id}/versions/{version_id}/traffic',
      { path: { app_id: 'shop', version_id: 'v1' }, body: { '-canary': 10 } },
      `headgate traffic set -- shop v1 '-canary=10'`,
    ],
    [
      'POST /apps',
      { body: { slug: 'shop', name: 'The shop', gateway_path: '/shop', hosts: ['a.example'] } },
      `headgate apps create shop 'name=The shop' gateway_path=/shop 'hosts=["a.example"]'`,
    ],
    [
      'POST /apps/{app_id}/versions',
      { path: { app_id: 'shop' }, body: { version: 'v1' } },
      'headgate versions create shop v1',
    ],
    [
      'POST /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/endpoints',
      {
        path: { app_id: 'shop', version_id: 'v1', revision_id: 'r1' },
        body: { method: 'GET', path: '/items/{id}', backend_path: '/i' },
      },
      `headgate endpoints create shop v1 r1 'GET /items/{id}' backend_path=/i`,
    ],
    [
      'POST /apps/{app_id}/tokens',
      { path: { app_id: 'shop' }, body: { name: 'acme', scopes: ['read'], token: 'old-value' } },
      `headgate keys create shop acme --file - <<'EOF'\nscopes:\n  - read\ntoken: old-value\nEOF`,
    ],
    [
      'PATCH /apps/{app_id}/tokens/{token_id}',
      { path: { app_id: 'shop', token_id: 'acme' }, body: { is_active: false } },
      'headgate keys revoke shop acme',
    ],
    [
      'POST /apps/{app_id}/tokens/{token_id}/rotate',
      { path: { app_id: 'shop', token_id: 'acme' }, body: { overlap_secs: 0 } },
      'headgate keys rotate shop acme --overlap 0',
    ],
    [
      'POST /config/versions/{config_version}/rollback',
      { path: { config_version: '12' }, body: { base_version: 14, delete_keys: true, message: "it's v1" } },
      `headgate config rollback 12 --delete-keys '--message=it'\\''s v1'`,
    ],
    [
      'POST /admin/tokens',
      { body: { name: 'prometheus', role: 'viewer', expires_at: null } },
      'headgate admin-tokens create prometheus role=viewer expires_at=null',
    ],
    [
      'POST /webhooks',
      { body: { name: 'on-call', url: 'https://hooks.example/', events: ['key.*', 'app.*'] } },
      `headgate webhooks create on-call url=https://hooks.example/ 'events=["key.*","app.*"]'`,
    ],
    [
      'POST /transaction',
      { body: { operations: [{ method: 'DELETE', path: '/api/v1/apps/shop' }] } },
      `headgate transaction - <<'EOF'\n- method: DELETE\n  path: /api/v1/apps/shop\nEOF`,
    ],
    [
      'POST /webhooks/{webhook_id}/dead-letters/{event_id}/resend',
      { path: { webhook_id: 'on-call', event_id: 'e1' } },
      'headgate webhooks resend-event on-call e1',
    ],
    [
      'DELETE /webhooks/{webhook_id}/dead-letters/{event_id}',
      { path: { webhook_id: 'on-call', event_id: 'e1' } },
      'headgate webhooks forget-event on-call e1',
    ],
    [
      'POST /certificates/{name}/renew',
      { path: { name: '*.shop.example' } },
      `headgate certificates renew '*.shop.example'`,
    ],
    [
      'PUT /explain/sampling',
      { body: { app: 'shop', rate: 0.25, seconds: 300 } },
      'headgate sampling start app=shop rate=0.25 seconds=300',
    ],
    [
      'PUT /explain/sampling',
      { body: { rate: 1e-7, seconds: 300 } },
      `headgate sampling start --file - <<'EOF'\nrate: 1e-7\nseconds: 300\nEOF`,
    ],
    ['DELETE /explain/sampling', {}, 'headgate sampling stop'],
    ['POST /explain/debug-tokens', { body: { seconds: 600 } }, 'headgate debug-tokens create seconds=600'],
    [
      'DELETE /explain/debug-tokens/{debug_token_id}',
      { path: { debug_token_id: 'd1' } },
      'headgate debug-tokens revoke d1',
    ],
    [
      'POST /profiles',
      { body: { kind: 'cpu', thread: 'main', seconds: 30 } },
      'headgate profile --main --seconds 30',
    ],
    [
      'POST /profiles',
      { body: { kind: 'heap', thread: 'worker', contains_secrets: true } },
      'headgate profile --heap --yes',
    ],
    [
      'POST /import/openapi',
      {
        body: { app: 'shop', version: 'v2', backend: 'https://a.example/x y', security: true, document: 'x' },
      },
      `headgate import openapi openapi.yaml --app shop --api-version v2 --backend 'https://a.example/x y' --security --apply`,
    ],
    ['POST /config/apply', { body: {} }, undefined],
  ])('%s', (operation, options, expected) => {
    expect(commandOf(operation, options)).toBe(expected);
  });
});

describe('for a shell', () => {
  const printed = (words: string): string =>
    execFileSync('sh', ['-c', `printf '%s|' ${words}`], { encoding: 'utf8' });

  it.each([`it's`, '$(id)', '`id`', 'a"b', '\\', '\n', '!x', "''"])('%s is one word', (text) => {
    expect(printed(quoted(text))).toBe(`${text}|`);
  });

  it('no text of a file ends it', () => {
    const text = fc.oneof(fc.constantFrom('EOF', '@\nEOF\nid', '\nEOF', '|\nEOF'), fc.string());
    fc.assert(
      fc.property(text, fc.dictionary(text, text, { maxKeys: 3 }), (one, labels) => {
        const options = { path: { app_id: 'shop' }, body: { description: `@${one}`, labels } };
        const [first = '', ...lines] = (commandOf('PATCH /apps/{app_id}', options) ?? '').split('\n');
        expect(first).toBe(`headgate apps edit shop --file - <<'EOF'`);
        expect(lines.indexOf('EOF')).toBe(lines.length - 1);
      }),
      { numRuns: 200 },
    );
  });

  it('any texts stay the words that they are', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((one) => !one.includes('\0'));
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 20 }), (texts) => {
        expect(printed(texts.map(word).join(' '))).toBe(texts.map((one) => `${one}|`).join(''));
      }),
      { numRuns: 30 },
    );
  });
});
