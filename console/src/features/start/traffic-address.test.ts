import { expect, it } from 'vitest';
import type { Setting } from '../../api/schema.ts';
import { trafficOrigin } from './traffic-address.ts';

const setting = (name: string, value: Setting['value']): Setting => ({
  name,
  value,
  group: 'proxy',
  type: 'text',
  default: null,
  default_text: null,
  source: 'environment',
  secret: false,
  unit: null,
  doc: '',
});

it('says where clients call, with the scheme of the listener', () => {
  const port = setting('GATEWAY_PROXY__PORT', 8080);
  expect(trafficOrigin([port], 'gate.example.com')).toBe('http://gate.example.com:8080');
  const tls = setting('GATEWAY_PROXY__TLS__CERT_FILE', ['/cert.pem']);
  expect(trafficOrigin([port, tls], '[::1]')).toBe('https://[::1]:8080');
  const none = setting('GATEWAY_PROXY__TLS__CERT_FILE', []);
  expect(trafficOrigin([port, none], 'a')).toBe('http://a:8080');
});

it('says nothing of a port that is not known', () => {
  expect(trafficOrigin([], 'a')).toBe('');
  expect(trafficOrigin([setting('GATEWAY_PROXY__PORT', 0)], 'a')).toBe('');
});
