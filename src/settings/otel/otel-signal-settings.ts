/** Settings of OpenTelemetry for a single signal, such as another collector for traces than for metrics. */
import { integer, list, oneOf, text, type Setting } from '../settings-values.ts';
import { otelHeader } from './otel-pairs.ts';

export const OTEL_TIMEOUT_MS = { min: 100, max: 60_000 } as const;

/** The settings of one signal; unset ones take the common value. */
interface SignalRows {
  readonly HEADERS: Setting<readonly string[]>;
  readonly TIMEOUT_MS: Setting<number | undefined>;
  readonly COMPRESSION: Setting<'none' | 'gzip' | undefined>;
  readonly CA_FILE: Setting<string | undefined>;
  readonly CLIENT_CERT_FILE: Setting<string | undefined>;
  readonly CLIENT_KEY_FILE: Setting<string | undefined>;
}

type Prefixed<S extends string> = {
  readonly [K in keyof SignalRows as `GATEWAY_OTEL__${S}_${K}`]: SignalRows[K];
};

/** @param signal as it is spelled in names of variables @param what is exported, for descriptions */
export function signalSettings<S extends 'TRACES' | 'METRICS' | 'LOGS'>(
  signal: S,
  what: string,
): Prefixed<S> {
  const like = (name: string, standard: string) => ({
    defaultText: `\`GATEWAY_OTEL__${name}\``,
    otherName: `OTEL_EXPORTER_OTLP_${signal}_${standard}`,
  });
  const rows: SignalRows = {
    HEADERS: list('name=value, comma-separated', otelHeader, {
      default: [],
      secret: true,
      ...like('HEADERS', 'HEADERS'),
      description: `Header fields of requests with ${what}, in place of all of \`GATEWAY_OTEL__HEADERS\`.`,
    }),
    TIMEOUT_MS: integer(OTEL_TIMEOUT_MS, {
      default: undefined,
      ...like('TIMEOUT_MS', 'TIMEOUT'),
      description: `How long an export of ${what} may take.`,
    }),
    COMPRESSION: oneOf(['none', 'gzip'], {
      default: undefined,
      ...like('COMPRESSION', 'COMPRESSION'),
      description: `Compression of exports of ${what}.`,
    }),
    CA_FILE: text('path', {
      default: undefined,
      ...like('CA_FILE', 'CERTIFICATE'),
      description: `File with the authorities (PEM) of the collector of ${what}.`,
    }),
    CLIENT_CERT_FILE: text('path', {
      default: undefined,
      ...like('CLIENT_CERT_FILE', 'CLIENT_CERTIFICATE'),
      description: `File with the client certificate (PEM) for the collector of ${what}. Needs \`GATEWAY_OTEL__${signal}_CLIENT_KEY_FILE\`.`,
    }),
    CLIENT_KEY_FILE: text('path', {
      default: undefined,
      ...like('CLIENT_KEY_FILE', 'CLIENT_KEY'),
      description: 'File with the private key (PEM) of that certificate.',
    }),
  };
  const named = Object.entries(rows).map(([name, row]) => [`GATEWAY_OTEL__${signal}_${name}`, row]);
  return Object.fromEntries(named) as Prefixed<S>;
}
