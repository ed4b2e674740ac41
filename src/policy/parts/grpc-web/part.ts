/**
 * The policy part `grpc_web`, which proxy/upstream/grpc-web/ carries out. `cors` reads `translatesGrpcWeb`: pages need
 * some fields of their own for it.
 */
import { Type } from 'typebox';
import type { EffectivePolicy } from '../../../model/policy.ts';
import { warning } from '../../../model/warnings.ts';
import { definePart } from '../../part.ts';
import { GRPC_WEB_DOCS } from './docs.ts';

const NAME = 'grpc_web';

/** Fields of gRPC-Web that a page may send, and those that it must be able to read. */
export const GRPC_WEB_REQUEST_FIELDS = [
  'Content-Type',
  'X-Grpc-Web',
  'X-User-Agent',
  'Grpc-Timeout',
] as const;
export const GRPC_WEB_RESPONSE_FIELDS = ['Grpc-Status', 'Grpc-Message', 'Grpc-Status-Details-Bin'] as const;

export const translatesGrpcWeb = ({ policy }: EffectivePolicy): boolean => policy[NAME] === true;

export const GRPC_WEB = definePart({
  name: NAME,
  schema: Type.Boolean({
    description:
      'Translate gRPC-Web calls, which pages in browsers make, to gRPC. The backend must use HTTP/2.',
  }),
  docs: GRPC_WEB_DOCS,
  off: { example: false, is: (isOn) => !isOn },
  mayShadow: false,
  // A page reads the errors of unknown calls too.
  marksUnmatched: (isOn) => isOn,
  explain: { forwarding: (isOn) => (isOn === true ? { value: true } : undefined) },
  revisionWarnings: (isOn, { backend_protocol: protocol }) => {
    if (isOn !== true || protocol !== 'http1') return [];
    const what = 'Calls of gRPC-Web are translated only for a backend that is asked over HTTP/2';
    return [warning('grpc_web_without_http2', '/backend_protocol', what)];
  },
  compile: (isOn) => (isOn === true ? { data: { translatesGrpcWeb: true } } : undefined),
});
