/**
 * Runs in a child process, which the class `Child` starts. Answers each call of the parent process, and exits together
 * with it.
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

/** The resources that a process has used. */
export interface Usage {
  residentBytes: number;
  cpuMicroseconds: number;
}

export function readUsage(): Usage {
  const { user, system } = process.cpuUsage();
  return { residentBytes: process.memoryUsage.rss(), cpuMicroseconds: user + system };
}
