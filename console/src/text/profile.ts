/** Words of profiles: where the time of a gateway goes. */
export const profileWords = {
  title: 'Profile this gateway',
  text: 'A CPU profile shows where a thread spends its time, while it goes on with its work. Open the file in the developer tools of Chrome, panel Performance. Heap snapshots, which hold secrets and stop their thread, are made by curl or the command line.',
  thread: 'Thread',
  threads: { worker: 'a worker: the traffic', main: 'the main thread: management and database' },
  seconds: 'Seconds',
  secondsHint: 'At most 60.',
  make: 'Make a CPU profile',
  heap: 'A heap snapshot of this thread, as curl or command',
  saved: (file: string): string => `Saved as ${file}`,
} as const;
