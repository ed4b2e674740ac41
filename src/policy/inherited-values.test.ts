/**
 * A value that many endpoints inherit is compiled once: an app may have 10,000 addresses and as many endpoints with
 * policies of their own.
 */
import { expect, it } from 'vitest';
import type { Policy } from './registry.ts';
import { testGateway } from './test-fixtures.ts';

const INHERITED = {
  ip_access: { deny: ['192.0.2.0/24'] },
  cors: { allowed_origins: ['https://page.test'] },
  auth: {
    auth_type: 'jwt',
    jwt: { secret: 'x'.repeat(32), claims_to_headers: { email: 'X-Email' } },
  },
  headers: { request: { set: { 'X-User': '${claim.sub}', 'X-Email': '${claim.email}' } } },
} satisfies Policy;

it.each([false, true])(
  'cors and JWT settings of endpoints are the same objects, with grpc_web %s',
  (grpcWeb) => {
    const gateway = testGateway();
    const [one, other] = [1, 2].map((bytes) =>
      gateway.compile({ ...INHERITED, max_body_bytes: bytes, grpc_web: grpcWeb }),
    );
    expect(one?.cors).toBe(other?.cors);
    expect(one?.requestFields).toBe(other?.requestFields);
    expect(one?.managedHeaders).toBe(other?.managedHeaders);
    expect(one?.managedHeaders).toEqual(new Set(['x-email']));
    const own = gateway.compile({ ...structuredClone(INHERITED), grpc_web: !grpcWeb });
    expect(own.cors).not.toBe(one?.cors);
  },
);

it('fields are edited in another way where another `auth` vouches for some of them', () => {
  const gateway = testGateway();
  const { headers } = INHERITED;
  const [one, other] = ['X-Email', 'X-User'].map((name) =>
    gateway.compile({
      headers,
      auth: { auth_type: 'jwt', jwt: { secret: 'x'.repeat(32), claims_to_headers: { of: name } } },
    }),
  );
  const edited = (policy: typeof one): (string | undefined)[] =>
    ['x-email', 'x-user'].map((name) => policy?.requestFields?.nameOf(name));
  expect(edited(one)).toEqual([undefined, '']);
  expect(edited(other)).toEqual(['', undefined]);
});
