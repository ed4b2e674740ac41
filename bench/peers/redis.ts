/** A Valkey or Redis server for limits over many nodes, without persistence, beside the load generator. */
import * as net from 'node:net';
import type { Cores } from '../cores.ts';
import { freePort, newFolder, startProgram, type RunningProgram } from '../processes.ts';
import { programPath } from '../programs.ts';
import { COUNT_SCRIPT } from './nginx-lua.ts';

export async function startRedis(cores: Cores): Promise<RunningProgram> {
  const port = await freePort();
  const program = await startProgram({
    name: 'redis-server',
    command: [programPath('redis-server'), '--port', String(port), '--bind', '127.0.0.1', '--save', ''],
    cores: cores.load,
    folder: newFolder('redis'),
    port,
  });
  await loadScript(port);
  return program;
}

async function loadScript(port: number): Promise<void> {
  const args = ['SCRIPT', 'LOAD', COUNT_SCRIPT];
  const socket = net.connect(port, '127.0.0.1');
  socket.write(`*${args.length}\r\n${args.map((arg) => `$${arg.length}\r\n${arg}\r\n`).join('')}`);
  const reply = await new Promise<string>((done, fail) =>
    socket.once('data', (data) => done(data.toString())).once('error', fail),
  );
  socket.destroy();
  if (!reply.startsWith('$40')) throw new Error(`The server did not take the script: ${reply}`);
}
