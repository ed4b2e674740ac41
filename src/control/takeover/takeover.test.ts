import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { until } from '../../../test/support/measure/until.ts';
import { freePort } from '../../../test/support/backends/origin-process.ts';
import { systemClock } from '../../lib/clock.ts';
import { requestTakeover, TakeoverResponder } from './takeover.ts';

const responders: TakeoverResponder[] = [];
afterEach(() => {
  for (const responder of responders.splice(0)) responder.stop();
});

function start(resumeMs = 60_000) {
  const seen: string[] = [];
  /** What was seen when the new process was told of the configuration. */
  const told: string[][] = [];
  /** The process that announces that it takes over; undefined: none that lives. */
  const next: { pid: number | undefined } = { pid: undefined };
  const management = {
    isSuspended: false,
    async suspend(writesEnded: () => void) {
      writesEnded();
      management.isSuspended = true;
      seen.push('closed');
    },
    async resume() {
      management.isSuspended = false;
      seen.push('open');
    },
  };
  const successor = {
    pid: () => next.pid,
    mayRead: () => void told.push([...seen]),
    failed: () => void seen.push('failed'),
  };
  const responder = new TakeoverResponder(management, successor, pino({ enabled: false }), resumeMs);
  responders.push(responder);
  return { seen, told, next, responder };
}

test('the second signal of a new process opens the port again', async () => {
  const { seen, told, next, responder } = start();
  next.pid = 7;
  await responder.request();
  expect(seen).toEqual(['closed']);
  expect(told, 'before the port was free').toEqual([[]]);
  await responder.request();
  expect(seen).toEqual(['closed', 'open', 'failed']);
});

test('a new process that vanishes is noticed', async () => {
  const { seen, next, responder } = start();
  next.pid = 7;
  await responder.request();
  next.pid = undefined;
  await until(() => seen.length > 1, 5_000);
  expect(seen).toEqual(['closed', 'open', 'failed']);
});

test('a new process that was found to be gone before its last signal arrived leaves the port open', async () => {
  const { seen, next, responder } = start();
  next.pid = 7;
  await responder.request();
  next.pid = undefined;
  await until(() => seen.length > 1, 5_000);
  await responder.request();
  expect(seen).toEqual(['closed', 'open', 'failed']);
  next.pid = 8;
  await responder.request();
  expect(seen, 'another one').toEqual(['closed', 'open', 'failed', 'closed']);
});

test('the first signal of another process after one that vanished is no second one', async () => {
  const { seen, next, responder } = start();
  next.pid = 7;
  await responder.request();
  next.pid = 8;
  await responder.request();
  expect(seen, 'it takes over now').toEqual(['closed']);
  await responder.request();
  expect(seen, 'it has failed').toEqual(['closed', 'open', 'failed']);
});

test.each([
  { signals: 1, pid: undefined, seen: ['closed'], of: 'an unknown process asks' },
  { signals: 2, pid: undefined, seen: [], of: 'an unknown process has asked and given up' },
  { signals: 1, pid: 7, seen: ['closed'], of: 'a process asks' },
  { signals: 2, pid: 7, seen: ['closed'], of: 'a process asks, after one that vanished' },
  { signals: 3, pid: 7, seen: ['closed'], of: 'a process asks, after one that gave up' },
])('$signals signals of the start: $of', async ({ signals, pid, seen: expected }) => {
  const { seen, next, responder } = start();
  next.pid = pid;
  await responder.request(signals);
  expect(seen).toEqual(expected);
});

test('a new process that does not announce itself has a while', async () => {
  const { seen, responder } = start(100);
  await responder.request();
  expect(seen).toEqual(['closed']);
  await until(() => seen.length > 1, 5_000);
  await responder.request();
  await responder.request();
  expect(seen).toEqual(['closed', 'open', 'failed', 'closed', 'open', 'failed']);
});

test('a new process that lives has longer, but not for ever', async () => {
  const { seen, next, responder } = start(400);
  next.pid = 7;
  await responder.request();
  await pause(800);
  expect(seen).toEqual(['closed']);
  await until(() => seen.length > 1, 15_000);
  expect(seen).toEqual(['closed', 'open', 'failed']);
});

test('a process that has got the id of the old one since is not signalled', async () => {
  const other = spawn('sh', ['-c', 'trap "" USR2; echo; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const pid = other.pid as number;
  try {
    await once(other.stdout, 'data');
    const exited = once(other, 'exit').then(() => 'ended');
    let started = '1';
    const address = { host: '127.0.0.1', port: await freePort() };
    const takeover = await requestTakeover(pid, address, systemClock, () => started);
    started = '2';
    takeover.complete();
    expect(takeover.hasEnded()).toBe(true);
    expect(await Promise.race([exited, pause(200)])).toBeUndefined();
  } finally {
    other.kill('SIGKILL');
  }
});
