/** A backend as one URL, or the path of its Unix socket, instead of its four fields. Pure. */
import { CliError, printable } from '../io.ts';

/** @throws CliError when the text is not an http or https URL of a host and a path */
export function backendFields(text: string): Record<string, unknown> {
  // As in other proxies, a scheme may precede the socket. The gateway checks the path itself.
  const socket = /^(?:(https?):\/\/)?(unix:\/.*)$/i.exec(text);
  if (socket !== null || text.startsWith('unix:')) {
    return { backend_scheme: socket?.[1]?.toLowerCase() ?? 'http', backend_host: socket?.[2] ?? text };
  }
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CliError(
      `--backend "${printable(text)}" is not an http or https URL; expected one such as http://10.0.0.5:8080, or unix:/run/billing.sock`,
    );
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new CliError('--backend has more than a host, a port and a path; expected only those');
  }
  const scheme = url.protocol.slice(0, -1);
  const path = url.pathname.replace(/\/+$/, '');
  const usualPort = scheme === 'http' ? 80 : 443;
  return {
    backend_scheme: scheme,
    backend_host: url.hostname.replaceAll(/^\[|\]$/g, ''),
    backend_port: url.port === '' ? usualPort : Number(url.port),
    ...(path !== '' && { backend_base_path: path }),
  };
}
