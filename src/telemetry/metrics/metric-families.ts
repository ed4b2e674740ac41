/**
 * Reads the text of `GET /metrics` (Prometheus exposition format 0.0.4) into families of points, so that what is
 * exported is what is scraped. Reads what this program writes: families with HELP and TYPE, buckets in the order of
 * their bounds. Pure.
 */

export interface Point {
  /** Name, value, name, value … in the order of the text. */
  readonly labels: readonly (readonly [name: string, value: string])[];
  readonly value: number;
  /** Unix milliseconds: the start of the count; absent: the start of the gateway. */
  readonly startMs?: number;
}

export interface HistogramPoint {
  readonly labels: Point['labels'];
  /** Upper bounds of all buckets except the last, which has none. */
  readonly bounds: readonly number[];
  /** Observations in each single bucket. */
  readonly counts: readonly number[];
  readonly sum: number;
  readonly startMs?: number;
}

export type Family = { readonly name: string; readonly help: string } & (
  | { readonly type: 'counter' | 'gauge'; readonly points: Point[] }
  | { readonly type: 'histogram'; readonly points: HistogramPoint[] }
);

const SAMPLE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Leaves out families of other types, and values that are not numbers. */
export function readFamilies(text: string): Family[] {
  const families: Family[] = [];
  let help = '';
  let reader: FamilyReader | undefined;
  const end = (): void => {
    const family = reader?.end();
    if (family !== undefined && family.points.length > 0) families.push(family);
    reader = undefined;
  };
  for (const line of text.split('\n')) {
    if (line.startsWith('# HELP ')) {
      end();
      help = line.slice(line.indexOf(' ', 7) + 1);
    } else if (line.startsWith('# TYPE ')) {
      end();
      const [name = '', type = ''] = line.slice(7).split(' ');
      reader = readerOf(type, name, help);
    } else if (line !== '') reader?.sample(line);
  }
  end();
  return families;
}

interface FamilyReader {
  sample(line: string): void;
  end(): Family;
}

function readerOf(type: string, name: string, help: string): FamilyReader | undefined {
  if (type === 'histogram') return histogramReader(name, help);
  if (type !== 'counter' && type !== 'gauge') return undefined;
  const points: Point[] = [];
  return {
    sample: (line) => {
      const [, , labels = '', text] = SAMPLE.exec(line) ?? [];
      const value = Number(text);
      if (!Number.isNaN(value)) points.push({ labels: labelsOf(labels), value });
    },
    end: () => ({ type, name, help, points }),
  };
}

function histogramReader(name: string, help: string): FamilyReader {
  const points: HistogramPoint[] = [];
  let [bounds, counts, cumulative, sum] = [[] as number[], [] as number[], 0, 0];
  return {
    sample: (line) => {
      const [, sampleName, labels = '', text] = SAMPLE.exec(line) ?? [];
      const value = Number(text);
      if (sampleName === `${name}_bucket`) {
        const le = /(?:^|,)le="([^"]*)"/.exec(labels)?.[1];
        if (le !== '+Inf') bounds.push(Number(le));
        counts.push(value - cumulative);
        cumulative = value;
      } else if (sampleName === `${name}_sum`) sum = value;
      else {
        points.push({ labels: labelsOf(labels), bounds, counts, sum });
        [bounds, counts, cumulative, sum] = [[], [], 0, 0];
      }
    },
    end: () => ({ type: 'histogram', name, help, points }),
  };
}

function labelsOf(text: string): (readonly [string, string])[] {
  if (text === '') return [];
  return Array.from(text.matchAll(LABEL), ([, name = '', value = '']) => [name, unescaped(value)] as const);
}

function unescaped(value: string): string {
  return value.includes('\\')
    ? value.replace(/\\(.)/g, (_match, letter: string) => (letter === 'n' ? '\n' : letter))
    : value;
}
