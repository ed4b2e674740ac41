/** The address at which clients reach the gateway, as far as its settings show. */
import { useRead } from '../../api/queries.ts';
import type { Setting } from '../../api/schema.ts';

/**
 * For example `http://gateway.example.com:8080`; empty when the port is not known.
 * @param host the host by which the console was reached: clients most probably use the same name
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
