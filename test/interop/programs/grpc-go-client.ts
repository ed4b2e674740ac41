/** The client of grpc-go, which is a program: it runs one case of the interoperability tests of gRPC at a time. */
import { run, type Finished } from '../../support/programs/programs.ts';
import { goModule } from './install.ts';
import { CA_FILE, type InteropGateway } from './interop-gateway.ts';

export const GO_CASES = [
  'empty_unary',
  'large_unary',
  'client_streaming',
  'server_streaming',
  'ping_pong',
  'empty_stream',
  'timeout_on_sleeping_server',
  'cancel_after_begin',
  'cancel_after_first_response',
  'status_code_and_message',
  'special_status_message',
  'unimplemented_method',
  'unimplemented_service',
  'custom_metadata',
];

/** @param more flags of the program */
export function runGoClient(
  { proxyPort, tlsPort, token }: InteropGateway,
  isSecure: boolean,
  name: string,
  ...more: readonly string[]
): Promise<Finished> {
  const secure = ['-use_tls', '-use_test_ca', '-ca_file', CA_FILE];
  const at = ['-server_host', 'localhost', '-server_port', String(isSecure ? tlsPort : proxyPort)];
  const key = ['-additional_metadata', `authorization:Bearer ${token}`];
  return run(goModule('client'), [...at, ...(isSecure ? secure : []), ...key, '-test_case', name, ...more]);
}
