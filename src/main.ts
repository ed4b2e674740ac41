/**
 * Entry point: the only file that reads the environment and the command line's arguments. Everything else gets
 * what it needs as an argument.
 */
import { enableCompileCache } from 'node:module';

enableCompileCache();

const { run } = await import('./cli/command.ts');
await run(process.argv, process.env);
