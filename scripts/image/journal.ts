/** Runs the steps of a rehearsal, prints them, and writes them as a page of Markdown. */
export function openJournal() {
  const sections: string[] = [];
  return {
    /** Runs a step. The page shows its commands, its duration and the returned text. */
    async step(title: string, commands: string[], work: () => Promise<string> | string): Promise<void> {
      const startedAt = performance.now();
      let outcome = 'failed';
      let text = '';
      try {
        text = (await work()).trimEnd();
        outcome = 'done';
      } catch (error) {
        text = (error as Error).message;
        throw error;
      } finally {
        const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
        console.log(`${outcome} in ${seconds} s: ${title}${text === '' ? '' : `\n${text.replace(/^/gm, '    ')}`}`);
        const shown = [...commands.map(command => `$ ${command}`), ...(text === '' ? [] : [text])].join('\n');
        const block = shown === '' ? '' : `\n\`\`\`text\n${shown}\n\`\`\`\n`;
        sections.push(
          `## ${sections.length + 1}. ${title}\n\nThis step ${outcome === 'done' ? 'took' : 'failed after'} ${seconds} seconds.\n${block}`,
        );
      }
    },
    page: (introduction: string) => [introduction, ...sections].join('\n'),
  };
}

export type Journal = ReturnType<typeof openJournal>;
