/**
 * Names of families and labels in OpenTelemetry. A name of a semantic convention (1.45) is used where it has the
 * same meaning. Otherwise the prefix of the Prometheus name becomes a namespace, and its unit a field of its own,
 * from which a collector that writes for Prometheus restores the name. Pure.
 */

export interface MetricName {
  readonly name: string;
  /** Unit in UCUM; '' when there is none. */
  readonly unit: string;
  /** Attributes of all points. */
  readonly attributes: Readonly<Record<string, string>>;
}

const CONVENTIONS: Readonly<Record<string, Partial<MetricName> & Pick<MetricName, 'name'>>> = {
  headgate_request_duration_seconds: { name: 'http.server.request.duration', unit: 's' },
  process_cpu_user_seconds_total: { name: 'process.cpu.time', unit: 's', attributes: { 'cpu.mode': 'user' } },
  process_cpu_system_seconds_total: {
    name: 'process.cpu.time',
    unit: 's',
    attributes: { 'cpu.mode': 'system' },
  },
  process_resident_memory_bytes: { name: 'process.memory.usage', unit: 'By' },
  process_virtual_memory_bytes: { name: 'process.memory.virtual', unit: 'By' },
};
/** Families that repeat another family in a different form. */
const LEFT_OUT = new Set(['process_cpu_seconds_total', 'process_start_time_seconds']);
const UNITS = [
  ['_seconds', 's'],
  ['_bytes', 'By'],
] as const;
const ATTRIBUTES: Readonly<Record<string, string>> = {
  method: 'http.request.method',
  status: 'http.response.status_code',
  route: 'http.route',
  app: 'headgate.app',
  version: 'headgate.version',
  revision: 'headgate.revision',
  code: 'headgate.error_code',
  worker: 'headgate.worker',
};

/** undefined when the family is not exported. */
export function metricName(family: string): MetricName | undefined {
  if (LEFT_OUT.has(family)) return undefined;
  const known = CONVENTIONS[family];
  if (known !== undefined) return { unit: '', attributes: {}, ...known };
  const plain = family.replace(/_total$/, '');
  const unit = UNITS.find(([suffix]) => plain.endsWith(suffix));
  const withoutUnit = unit === undefined ? plain : plain.slice(0, -unit[0].length);
  return { name: withoutUnit.replace('_', '.'), unit: unit?.[1] ?? '', attributes: {} };
}

/** @param label a label of this program's families */
export function attributeName(label: string): string {
  return ATTRIBUTES[label] ?? label;
}
