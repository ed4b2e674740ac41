/** Words of charts over time. */
export const chartWords = {
  series: 'Series',
  latest: 'Latest',
  lowest: 'Lowest',
  highest: 'Highest',
  none: 'no data',
  nothingYet: 'Nothing to show in this time.',
  failed: 'The chart could not be loaded. The figures below say the same.',
  summaryOf: (title: string): string => `${title}: figures of the chart`,
} as const;
