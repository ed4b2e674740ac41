import { expect, it } from 'vitest';
import { healthCheckErrors } from './health-check.ts';

const grpc = { probe: { protocol: 'grpc' } } as const;

it.each<[string, Parameters<typeof healthCheckErrors>[0], readonly string[]]>([
  ['nothing', {}, []],
  ['a path', { health_check_path: '/h' }, []],
  ['a path and its probe', { health_check_path: '/h', circuit_breaker: { probe: { interval_ms: 100 } } }, []],
  ['a probe without a path', { circuit_breaker: { probe: {} } }, ['/circuit_breaker/probe']],
  ['http without a path', { circuit_breaker: { probe: { protocol: 'http' } } }, ['/circuit_breaker/probe']],
  [
    'a service without gRPC',
    { health_check_path: '/h', circuit_breaker: { probe: { service: 'a' } } },
    ['/circuit_breaker/probe/service'],
  ],
  ['gRPC', { backend_protocol: 'h2', circuit_breaker: grpc }, []],
  ['gRPC by choice', { backend_protocol: 'auto', circuit_breaker: grpc }, []],
  ['gRPC over HTTP/1.1', { circuit_breaker: grpc }, ['/circuit_breaker/probe/protocol']],
  [
    'gRPC with a path',
    { backend_protocol: 'h2', health_check_path: '/h', circuit_breaker: grpc },
    ['/health_check_path'],
  ],
  [
    'gRPC with statuses',
    {
      backend_protocol: 'h2',
      circuit_breaker: { probe: { protocol: 'grpc', expected_statuses: [200], service: 'a' } },
    },
    ['/circuit_breaker/probe/expected_statuses'],
  ],
])('%s', (_what, input, pointers) => {
  expect(healthCheckErrors(input).map(({ pointer }) => pointer)).toEqual(pointers);
});
