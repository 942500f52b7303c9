/**
 * Runs in a child process, which the class `Child` starts. Answers each call of the parent process. Exits when the
 * parent process ends.
 */
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

/** The memory that a process uses, and the CPU time that it has used. */
export interface Usage {
  residentBytes: number;
  cpuMicroseconds: number;
}

export function readUsage(): Usage {
  const { user, system } = process.cpuUsage();
  return { residentBytes: process.memoryUsage.rss(), cpuMicroseconds: user + system };
}
