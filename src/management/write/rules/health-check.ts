/** Rules over the fields of a revision's health check. Pure. */
import { hasHealthCheck } from '../../../config/backend.ts';
import type { FieldError } from '../../../model/errors.ts';
import type { RevisionInput } from '../../schemas/revision.ts';

const POINTER = '/circuit_breaker/probe';

type Checked = Pick<RevisionInput, 'circuit_breaker' | 'health_check_path' | 'backend_protocol'>;

export function healthCheckErrors(input: Checked): FieldError[] {
  const { health_check_path: path = null, circuit_breaker: breaker } = input;
  const probe = breaker?.probe;
  if (probe === undefined) return [];
  const at = (field: string, detail: string): FieldError => ({ pointer: `${POINTER}/${field}`, detail });
  if (probe.protocol === 'grpc') {
    const protocol = input.backend_protocol ?? 'http1';
    return [
      ...(protocol === 'http1'
        ? [at('protocol', 'can be "grpc" only with a backend_protocol that uses HTTP/2')]
        : []),
      ...(path === null
        ? []
        : [{ pointer: '/health_check_path', detail: 'has no effect with probe.protocol "grpc"' }]),
      ...(probe.expected_statuses === undefined
        ? []
        : [at('expected_statuses', 'cannot be combined with probe.protocol "grpc"')]),
    ];
  }
  return [
    ...(hasHealthCheck({ health_check_path: path, circuit_breaker: breaker ?? null })
      ? []
      : [{ pointer: POINTER, detail: 'needs a health_check_path, or the protocol "grpc"' }]),
    ...(probe.service === undefined ? [] : [at('service', 'is only allowed with probe.protocol "grpc"')]),
  ];
}
