import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/**
 * A process of the benchmark that answers calls, one at a time: servers and load generator each have their own, so
 * that none takes time on another's event loop.
 */
export class Child {
  readonly #process: ChildProcess;
  readonly #name: string;

  constructor(file: string, environment: Record<string, string> = {}, nodeOptions: string[] = []) {
    this.#name = file;
    this.#process = fork(new URL(file, import.meta.url), [], {
      env: { ...process.env, ...environment },
      execArgv: nodeOptions,
      // Ctrl-C reaches a whole process group: the parent alone decides in which order all is taken down.
      detached: true,
      // A log costs what writing it costs, and goes nowhere.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
  }

  async call<Answer>(message: unknown): Promise<Answer> {
    const ended = new AbortController();
    try {
      this.#process.send(message as object);
      const [answer] = await Promise.race([
        once(this.#process, 'message', { signal: ended.signal }),
        once(this.#process, 'exit', { signal: ended.signal }).then(() => {
          throw new Error(`${this.#name} has ended`);
        }),
      ]);
      if ('error' in answer) throw new Error(`${this.#name}: ${answer.error}`);
      return answer.value as Answer;
    } finally {
      ended.abort();
    }
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exit = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exit;
  }
}

/** The child's side: answers every call, and ends with its parent. */
export function answerCalls<Message>(answer: (message: Message) => Promise<unknown> | unknown) {
  process.on('message', async (message: Message) => {
    try {
      process.send?.({ value: await answer(message) });
    } catch (error) {
      process.send?.({ error: (error as Error).stack });
    }
  });
  process.on('disconnect', () => process.exit());
}

/** What a server has used; a call with 'usage' answers it. */
export interface Usage {
  residentBytes: number;
  cpuMicroseconds: number;
}

export function readUsage(): Usage {
  const { user, system } = process.cpuUsage();
  return { residentBytes: process.memoryUsage.rss(), cpuMicroseconds: user + system };
}
