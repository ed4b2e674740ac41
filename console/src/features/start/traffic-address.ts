/** Where clients reach the gateway, as far as its settings tell. */
import { useRead } from '../../api/queries.ts';
import type { Setting } from '../../api/schema.ts';

/**
 * Such as `http://gateway.example.com:8080`; empty where the port is not known.
 * @param host by which the console was reached: most probably the gateway has the same name for its clients
 */
export function trafficOrigin(settings: readonly Setting[], host: string): string {
  const valueOf = (name: string): Setting['value'] =>
    settings.find((setting) => setting.name === name)?.value ?? null;
  const port = valueOf('GATEWAY_PROXY__PORT');
  // 0 is any free port.
  if (typeof port !== 'number' || port === 0) return '';
  const certificates = valueOf('GATEWAY_PROXY__TLS__CERT_FILE');
  const hasTls = certificates !== null && String(certificates) !== '';
  return `${hasTls ? 'https' : 'http'}://${host}:${port}`;
}

export function useTrafficOrigin(): string {
  const settings = useRead('GET /settings', {});
  return trafficOrigin(settings.data?.body.data.items ?? [], window.location.hostname);
}
